import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Apache Kafka's clients, told what to do by lines of JSON: {"call": ..., arguments}, answered by {"result": ...} or
 * {"error": ...}. Bytes travel as base64.
 */
public final class Driver {
    static final ObjectMapper JSON = new ObjectMapper();
    private final Map<String, Member> members = new HashMap<>();
    private final Map<String, Sharer> sharers = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        Driver driver = new Driver();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("result", driver.call(JSON.readTree(line)));
            } catch (Exception | LinkageError error) {
                Throwable cause = error.getCause() == null ? error : error.getCause();
                answer.put("error", cause.toString());
                error.printStackTrace();
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
        System.exit(0);
    }

    private JsonNode call(JsonNode asked) throws Exception {
        String name = asked.path("name").asText();
        switch (asked.get("call").asText()) {
            case "produce":
                return produce(asked);
            case "consume":
                return consume(asked);
            case "join":
                members.put(name, new Member(settings(asked), asked.get("topics"), asked.path("pattern")));
                return JSON.nullNode();
            case "share":
                sharers.put(name, new Sharer(settings(asked), asked.get("topics"), asked.get("releases").asInt()));
                return JSON.nullNode();
            case "shared":
                return sharers.get(name).values();
            case "stop sharing":
                sharers.remove(name).leave();
                return JSON.nullNode();
            case "assignment":
                return members.get(name).assignment();
            case "values":
                return members.get(name).values();
            case "commit":
                members.get(name).commit();
                return JSON.nullNode();
            case "leave":
                members.remove(name).leave();
                return JSON.nullNode();
            default:
                return Administration.call(settings(asked), asked);
        }
    }

    static Properties settings(JsonNode asked) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", asked.get("bootstrap").asText());
        settings.put("key.serializer", ByteArraySerializer.class.getName());
        settings.put("value.serializer", ByteArraySerializer.class.getName());
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        asked.path("settings").properties().forEach(each -> settings.put(each.getKey(), each.getValue().asText()));
        return settings;
    }

    private static JsonNode produce(JsonNode asked) throws Exception {
        List<Future<RecordMetadata>> pending = new ArrayList<>();
        long pause = asked.path("pause").asLong(0);
        ArrayNode offsets = JSON.createArrayNode();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings(asked))) {
            for (JsonNode record : asked.get("records")) {
                List<Header> headers = new ArrayList<>();
                for (JsonNode header : record.path("headers")) {
                    headers.add(new RecordHeader(header.get(0).asText(), bytes(header.get(1))));
                }
                Integer partition = record.hasNonNull("partition") ? record.get("partition").asInt() : null;
                Long timestamp = record.hasNonNull("timestamp") ? record.get("timestamp").asLong() : null;
                pending.add(producer.send(new ProducerRecord<>(asked.get("topic").asText(), partition, timestamp,
                    bytes(record.get("key")), bytes(record.get("value")), headers)));
                Thread.sleep(pause);
            }
            for (Future<RecordMetadata> each : pending) {
                offsets.add(each.get().offset());
            }
        }
        return offsets;
    }

    private static JsonNode consume(JsonNode asked) {
        ArrayNode found = JSON.createArrayNode();
        TopicPartition place = new TopicPartition(asked.get("topic").asText(), asked.path("partition").asInt(0));
        long deadline = System.currentTimeMillis() + 30_000;
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings(asked))) {
            consumer.assign(List.of(place));
            consumer.seekToBeginning(List.of(place));
            while (found.size() < asked.get("count").asInt()) {
                if (System.currentTimeMillis() > deadline) {
                    throw new IllegalStateException("only " + found.size() + " records came");
                }
                consumer.poll(Duration.ofMillis(100)).forEach(record -> found.add(record(record)));
            }
        }
        return found;
    }

    static ObjectNode record(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode made = JSON.createObjectNode();
        made.put("key", record.key()).put("value", record.value());
        made.put("timestamp", record.timestamp()).put("offset", record.offset()).put("partition", record.partition());
        ArrayNode headers = made.putArray("headers");
        record.headers().forEach(header -> headers.addArray().add(header.key()).add(header.value()));
        return made;
    }

    private static byte[] bytes(JsonNode node) throws Exception {
        return node == null || node.isNull() ? null : node.binaryValue();
    }
}
