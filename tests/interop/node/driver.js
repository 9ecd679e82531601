"use strict";
// kafkajs, told what to do by lines of JSON: {"call": ..., arguments}, answered by {"result": ...} or {"error": ...}.
// Bytes travel as base64. kafkajs has gzip itself and takes the other codecs from libraries, as its manual shows.

const readline = require("node:readline");
const { CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = require("kafkajs");
const lz4 = require("lz4-napi");
const snappy = require("kafkajs-snappy");
const zstd = require("@bokuweb/zstd-wasm");

CompressionCodecs[CompressionTypes.Snappy] = snappy;
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async (encoder) => lz4.compressFrame(encoder.buffer),
  decompress: async (buffer) => lz4.decompressFrame(buffer),
});
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from(zstd.decompress(buffer)),
});
const TYPES = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 };
const RETRY = { initialRetryTime: 50, maxRetryTime: 1000, retries: 8 };
const members = new Map();

const client = (asked) =>
  new Kafka({ brokers: [asked.bootstrap], clientId: "kafkajs", logLevel: logLevel.ERROR, retry: RETRY });
const decode = (text) => (text === null || text === undefined ? null : Buffer.from(text, "base64"));
const encode = (bytes) => (bytes === null || bytes === undefined ? null : Buffer.from(bytes).toString("base64"));
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function toMessage(record) {
  const headers = {};
  for (const [name, value] of record.headers || []) (headers[name] = headers[name] || []).push(decode(value));
  const { timestamp, partition } = record;
  return {
    key: decode(record.key),
    value: decode(record.value),
    headers,
    partition: partition === null ? undefined : partition,
    timestamp: timestamp === null || timestamp === undefined ? undefined : String(timestamp),
  };
}

function fromMessage(partition, message) {
  const headers = [];
  for (const [name, values] of Object.entries(message.headers || {}))
    for (const value of Array.isArray(values) ? values : [values]) headers.push([name, encode(value)]);
  const { offset, timestamp } = message;
  const [key, value] = [encode(message.key), encode(message.value)];
  return { key, value, headers, partition, offset: Number(offset), timestamp: Number(timestamp) };
}

async function produce(asked) {
  const { idempotent, codec } = { idempotent: false, codec: "none", ...asked };
  const producer = client(asked).producer({ idempotent, maxInFlightRequests: idempotent ? 1 : 5, retry: RETRY });
  await producer.connect();
  const send = (messages) => producer.send({ topic: asked.topic, compression: TYPES[codec], acks: -1, messages });
  if (asked.pause) {
    for (const record of asked.records) {
      await send([toMessage(record)]);
      await sleep(asked.pause);
    }
  } else await send(asked.records.map(toMessage));
  await producer.disconnect();
}

async function consume(asked) {
  const consumer = client(asked).consumer({ groupId: asked.group, maxWaitTimeInMs: 100, retry: RETRY });
  await consumer.connect();
  await consumer.subscribe({ topic: asked.topic, fromBeginning: true });
  const found = [];
  await new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`only ${found.length} records came`)), 30_000).unref();
    consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        found.push(fromMessage(partition, message));
        if (found.length === asked.count) resolve();
      },
    });
  });
  await consumer.disconnect();
  return found;
}

class Member {
  async join(asked) {
    this.assigned = [];
    this.found = [];
    this.consumer = client(asked).consumer({
      groupId: asked.group,
      sessionTimeout: 6000,
      heartbeatInterval: 200,
      retry: RETRY,
      metadataMaxAge: 1000,
      maxWaitTimeInMs: 100,
    });
    this.positions = new Map();
    this.consumer.on(this.consumer.events.GROUP_JOIN, ({ payload }) => {
      this.assigned = Object.entries(payload.memberAssignment).flatMap(([topic, all]) => all.map((one) => [topic, one]));
    });
    await this.consumer.connect();
    for (const topic of asked.topics) await this.consumer.subscribe({ topic, fromBeginning: true });
    await this.consumer.run({
      autoCommit: false,
      eachMessage: async ({ topic, partition, message }) => {
        this.found.push(encode(message.value));
        this.positions.set(`${topic} ${partition}`, { topic, partition, offset: String(Number(message.offset) + 1) });
      },
    });
  }
  assignment = async () => this.assigned;
  values = async () => this.found;
  commit = async () => {
    const mine = new Set(this.assigned.map(([topic, partition]) => `${topic} ${partition}`));
    await this.consumer.commitOffsets([...this.positions.entries()].filter(([place]) => mine.has(place)).map(([, at]) => at));
  };
  leave = () => this.consumer.disconnect();
}

async function administer(asked) {
  const admin = client(asked).admin({ retry: RETRY });
  await admin.connect();
  const { topic, group: groupId } = asked;
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic };
  const calls = {
    create_topic: () =>
      admin.createTopics({
        topics: [
          {
            topic,
            numPartitions: asked.partitions,
            configEntries: Object.entries(asked.configs || {}).map(([name, value]) => ({ name, value })),
          },
        ],
      }),
    create_partitions: () => admin.createPartitions({ topicPartitions: [{ topic, count: asked.partitions }] }),
    delete_topic: () => admin.deleteTopics({ topics: [topic] }),
    topics: () => admin.listTopics(),
    describe_topic: async () => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0],
    configs: async () => {
      const { resources } = await admin.describeConfigs({ resources: [resource], includeSynonyms: false });
      const set = resources[0].configEntries.filter((each) => each.configSource === 1);
      return Object.fromEntries(set.map((each) => [each.configName, each.configValue]));
    },
    alter_configs: () =>
      admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries: asked.entries }] }),
    offsets: () => admin.fetchTopicOffsets(topic),
    offsets_by_time: () => admin.fetchTopicOffsetsByTimestamp(topic, asked.timestamp),
    delete_records: async () => {
      await admin.fetchTopicOffsets(topic); // deleteTopicRecords wants to have seen the topic
      const partitions = [{ partition: asked.partition, offset: String(asked.before) }];
      await admin.deleteTopicRecords({ topic, partitions });
    },
    cluster: () => admin.describeCluster(),
    groups: async () => (await admin.listGroups()).groups.map((each) => each.groupId),
    describe_group: async () => (await admin.describeGroups([groupId])).groups[0],
    group_offsets: async () => (await admin.fetchOffsets({ groupId, topics: [topic] }))[0].partitions,
    alter_group_offsets: () => admin.setOffsets({ groupId, topic, partitions: asked.partitions }),
    reset_group_offsets: () => admin.resetOffsets({ groupId, topic, earliest: true }),
    delete_group: () => admin.deleteGroups([groupId]),
    reassignments: () => admin.listPartitionReassignments({}),
  };
  try {
    return await calls[asked.call]();
  } finally {
    await admin.disconnect();
  }
}

async function call(asked) {
  const member = members.get(asked.name);
  switch (asked.call) {
    case "produce":
      return produce(asked);
    case "consume":
      return consume(asked);
    case "join":
      members.set(asked.name, new Member());
      return members.get(asked.name).join(asked);
    case "assignment":
      return member.assignment();
    case "values":
      return member.values();
    case "commit":
      return member.commit();
    case "leave":
      return member.leave();
    default:
      return administer(asked);
  }
}

async function main() {
  await zstd.init();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let answer;
    try {
      answer = { result: (await call(JSON.parse(line))) ?? null };
    } catch (error) {
      console.error(error);
      answer = { error: String(error) };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  process.exit(0);
}

main();
