import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentMemberSpec;
import org.apache.kafka.coordinator.group.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;
import org.apache.kafka.coordinator.group.streams.assignor.TopologyDescriber;

/** Kafka's own assignor of tasks. */
final class Tasks {
    private Tasks() {}

    static JsonNode assign(JsonNode asked) {
        Map<String, JsonNode> subtopologies = new TreeMap<>();
        asked.get("subtopologies").fields().forEachRemaining(each -> subtopologies.put(each.getKey(), each.getValue()));
        Map<String, AssignmentMemberSpec> members = new HashMap<>();
        for (JsonNode member : asked.get("members")) {
            members.put(member.get("id").asText(), new AssignmentMemberSpec(
                Optional.empty(),
                Optional.empty(),
                tasks(member.get("active")),
                tasks(member.get("standby")),
                Map.of(),
                member.get("process").asText(),
                Map.of(),
                Map.of(),
                Map.of()));
        }
        Map<String, String> configs = Map.of("num.standby.replicas", asked.get("standbys").asText());
        GroupAssignment found = new StickyTaskAssignor().assign(new GroupSpecImpl(members, configs), new TopologyDescriber() {
            @Override
            public List<String> subtopologies() {
                return List.copyOf(subtopologies.keySet());
            }

            @Override
            public int maxNumInputPartitions(String name) {
                return subtopologies.get(name).get(0).asInt();
            }

            @Override
            public boolean isStateful(String name) {
                return subtopologies.get(name).get(1).asBoolean();
            }
        });
        ObjectNode targets = Coordinator.JSON.createObjectNode();
        found.members().forEach((id, target) -> {
            ArrayNode both = targets.putArray(id);
            listed(both.addObject(), target.activeTasks());
            listed(both.addObject(), target.standbyTasks());
        });
        return targets;
    }

    private static Map<String, Set<Integer>> tasks(JsonNode stated) {
        Map<String, Set<Integer>> found = new HashMap<>();
        stated.fields().forEachRemaining(each -> {
            Set<Integer> partitions = new HashSet<>();
            each.getValue().forEach(partition -> partitions.add(partition.asInt()));
            found.put(each.getKey(), partitions);
        });
        return found;
    }

    private static void listed(ObjectNode into, Map<String, Set<Integer>> tasks) {
        tasks.forEach((name, partitions) -> new TreeSet<>(partitions).forEach(into.withArray(name)::add));
    }
}
