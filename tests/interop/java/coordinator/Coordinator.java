import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;

/** Parts of Apache Kafka's group coordinator, commanded by lines of JSON as `Driver` is. */
public final class Coordinator {
    static final ObjectMapper JSON = new ObjectMapper();

    private Coordinator() {}

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                JsonNode asked = JSON.readTree(line);
                answer.set("result", switch (asked.get("call").asText()) {
                    case "assign" -> Assignors.assign(asked);
                    case "assign tasks" -> Tasks.assign(asked);
                    default -> Patterns.match(asked);
                });
            } catch (Exception error) {
                answer.put("error", error.toString());
                error.printStackTrace();
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
    }
}
