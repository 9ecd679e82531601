import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.LogDirDescription;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** One call of the admin client, its result as JSON. */
final class Administration {
    private Administration() {
    }

    static JsonNode call(Properties settings, JsonNode asked) throws Exception {
        settings.keySet().removeIf(name -> name.toString().contains("serializer"));
        settings.remove("auto.offset.reset");
        settings.remove("enable.auto.commit");
        try (Admin admin = Admin.create(settings)) {
            return Driver.JSON.valueToTree(call(admin, asked, asked.path("topic").asText(), asked.path("group").asText()));
        }
    }

    private static Object call(Admin admin, JsonNode asked, String topic, String group) throws Exception {
        TopicPartition place = new TopicPartition(topic, asked.path("partition").asInt(0));
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        switch (asked.get("call").asText()) {
            case "create_topic": {
                Map<String, String> configs = new HashMap<>();
                asked.path("configs").properties().forEach(each -> configs.put(each.getKey(), each.getValue().asText()));
                NewTopic made = new NewTopic(topic, Optional.of(asked.path("partitions").asInt(1)), Optional.empty());
                admin.createTopics(List.of(made.configs(configs))).all().get();
                return null;
            }
            case "create_partitions":
                admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(asked.get("partitions").asInt()))).all().get();
                return null;
            case "delete_topic":
                admin.deleteTopics(List.of(topic)).all().get();
                return null;
            case "topics":
                return new TreeSet<>(admin.listTopics().names().get());
            case "describe_topic": {
                TopicDescription found = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
                ArrayNode partitions = Driver.JSON.createArrayNode();
                found.partitions().forEach(each -> partitions.addObject()
                    .put("partition", each.partition()).put("leader", each.leader().id())
                    .put("replicas", each.replicas().size()).put("isr", each.isr().size()));
                return Map.of("id", found.topicId().toString(), "internal", found.isInternal(), "partitions", partitions);
            }
            case "configs": {
                Config found = admin.describeConfigs(List.of(resource)).all().get().get(resource);
                Map<String, String> set = new TreeMap<>();
                found.entries().stream().filter(each -> each.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG)
                    .forEach(each -> set.put(each.name(), each.value()));
                return set;
            }
            case "set_config":
                return alter(admin, resource, asked, AlterConfigOp.OpType.SET);
            case "delete_config":
                return alter(admin, resource, asked, AlterConfigOp.OpType.DELETE);
            case "config_resources":
                return admin.listConfigResources(Set.of(ConfigResource.Type.TOPIC), new ListConfigResourcesOptions()).all().get()
                    .stream().map(ConfigResource::name).sorted().toList();
            case "offsets": {
                Map<String, Long> found = new TreeMap<>();
                for (OffsetSpec spec : List.of(OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.maxTimestamp(),
                    OffsetSpec.forTimestamp(asked.path("timestamp").asLong(0)))) {
                    ListOffsetsResult.ListOffsetsResultInfo info = admin.listOffsets(Map.of(place, spec)).all().get().get(place);
                    found.put(spec.getClass().getSimpleName(), info.offset());
                }
                return found;
            }
            case "delete_records":
                return admin.deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(asked.get("before").asLong())))
                    .lowWatermarks().get(place).get().lowWatermark();
            case "cluster": {
                ObjectNode found = Driver.JSON.createObjectNode();
                found.put("id", admin.describeCluster().clusterId().get());
                found.put("nodes", admin.describeCluster().nodes().get().size());
                return found.put("controller", admin.describeCluster().controller().get().id());
            }
            case "log_dirs": {
                Map<String, Long> sizes = new TreeMap<>();
                for (Map<String, LogDirDescription> dirs : admin.describeLogDirs(List.of(1)).allDescriptions().get().values()) {
                    dirs.values().forEach(each -> each.replicaInfos().forEach((which, info) -> sizes.put(which.toString(), info.size())));
                }
                return sizes;
            }
            case "producers": {
                ArrayNode found = Driver.JSON.createArrayNode();
                Collection<ProducerState> states = admin.describeProducers(List.of(place)).partitionResult(place).get().activeProducers();
                states.forEach(each -> found.addObject().put("sequence", each.lastSequence()).put("epoch", each.producerEpoch()));
                return found;
            }
            case "groups": {
                Map<String, String> found = new TreeMap<>();
                for (GroupListing each : admin.listGroups().all().get()) {
                    found.put(each.groupId(), each.groupState().map(Object::toString).orElse("?"));
                }
                return found;
            }
            case "describe_group": {
                ConsumerGroupDescription found = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
                List<String> clients = new ArrayList<>();
                found.members().forEach(each -> clients.add(each.clientId()));
                return Map.of("state", found.groupState().toString(), "assignor", found.partitionAssignor(),
                    "coordinator", found.coordinator().id(), "clients", clients);
            }
            case "group_offsets": {
                Map<String, Long> found = new TreeMap<>();
                Map<TopicPartition, OffsetAndMetadata> offsets =
                    admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
                offsets.forEach((which, offset) -> found.put(which.toString(), offset.offset()));
                return found;
            }
            case "alter_group_offsets":
                admin.alterConsumerGroupOffsets(group, Map.of(place, new OffsetAndMetadata(asked.get("offset").asLong()))).all().get();
                return null;
            case "delete_group_offsets":
                admin.deleteConsumerGroupOffsets(group, Set.of(place)).all().get();
                return null;
            case "delete_group":
                admin.deleteConsumerGroups(List.of(group)).all().get();
                return null;
            case "elect_leaders":
                return admin.electLeaders(ElectionType.PREFERRED, Set.of(place)).partitions().get().get(place)
                    .map(error -> error.getClass().getSimpleName()).orElse("");
            case "reassignments":
                return admin.listPartitionReassignments().reassignments().get().size();
            case "quorum": {
                QuorumInfo found = admin.describeMetadataQuorum().quorumInfo().get();
                return Map.of("leader", found.leaderId(), "voters", found.voters().size());
            }
            case "features":
                return new TreeSet<>(admin.describeFeatures().featureMetadata().get().supportedFeatures().keySet());
            case "transactions":
                return admin.listTransactions().all().get().size();
            default:
                throw new IllegalArgumentException("no such call: " + asked.get("call").asText());
        }
    }

    private static Object alter(Admin admin, ConfigResource resource, JsonNode asked, AlterConfigOp.OpType type) throws Exception {
        ConfigEntry entry = new ConfigEntry(asked.get("name").asText(), asked.path("value").asText(null));
        admin.incrementalAlterConfigs(Map.of(resource, List.of(new AlterConfigOp(entry, type)))).all().get();
        return null;
    }
}
