import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;

/** RE2/J, which Kafka resolves regular expressions of subscriptions with. */
final class Patterns {
    private Patterns() {}

    /** For each expression the names that match, or null if it is not valid. */
    static JsonNode match(JsonNode asked) {
        ArrayNode results = Coordinator.JSON.createArrayNode();
        for (JsonNode regex : asked.get("regexes")) {
            try {
                Pattern pattern = Pattern.compile(regex.asText());
                ArrayNode names = Coordinator.JSON.createArrayNode();
                for (JsonNode name : asked.get("names")) {
                    if (pattern.matcher(name.asText()).matches()) {
                        names.add(name.asText());
                    }
                }
                results.add(names);
            } catch (PatternSyntaxException error) {
                results.addNull();
            }
        }
        return results;
    }
}
