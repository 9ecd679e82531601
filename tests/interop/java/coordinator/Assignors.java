import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Kafka's own assignors. Members and old targets are built as its coordinator builds them from records, so that hash
 * tables have the order that they have there.
 */
final class Assignors {
    private Assignors() {}

    static JsonNode assign(JsonNode asked) {
        Map<Uuid, Integer> partitions = new HashMap<>();
        asked.get("partitions").fields().forEachRemaining(
            topic -> partitions.put(Uuid.fromString(topic.getKey()), topic.getValue().asInt()));
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (JsonNode member : asked.get("members")) {
            Set<Uuid> topics = new LinkedHashSet<>();
            member.get("topics").forEach(topic -> topics.add(Uuid.fromString(topic.asText())));
            Map<Uuid, Set<Integer>> assigned = new HashMap<>();
            String id = member.get("id").asText();
            for (JsonNode topic : member.get("assigned")) {
                List<Integer> listed = new ArrayList<>();
                topic.get(1).forEach(partition -> listed.add(partition.asInt()));
                Uuid topicId = Uuid.fromString(topic.get(0).asText());
                assigned.put(topicId, new HashSet<>(listed));
                listed.forEach(each -> owners.computeIfAbsent(topicId, __ -> new HashMap<>()).put(each, id));
            }
            members.put(id, new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(),
                Optional.ofNullable(member.get("instance").textValue()),
                topics,
                new Assignment(assigned)));
        }
        SubscriptionType type =
            asked.get("homogeneous").asBoolean() ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        ConsumerGroupPartitionAssignor assignor =
            asked.get("assignor").asText().equals("range") ? new RangeAssignor() : new UniformAssignor();
        GroupAssignment found = assignor.assign(new GroupSpecImpl(members, type, owners), new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid topicId) {
                return partitions.getOrDefault(topicId, -1);
            }

            @Override
            public Set<String> racksForPartition(Uuid topicId, int partition) {
                return Set.of();
            }
        });
        ObjectNode targets = Coordinator.JSON.createObjectNode();
        found.members().forEach((id, target) -> {
            ObjectNode topics = targets.putObject(id);
            target.partitions().forEach((topic, numbers) ->
                new TreeSet<>(numbers).forEach(topics.withArray(topic.toString())::add));
        });
        return targets;
    }
}
