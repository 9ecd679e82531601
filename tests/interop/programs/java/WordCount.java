import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Counts words: every update of a count is one record of the output topic. The arguments are settings, name=value, and
 * the topics `input` and `output`. SIGTERM ends it.
 */
public final class WordCount {
    public static void main(String[] arguments) {
        Properties settings = new Properties();
        for (String argument : arguments) {
            String[] parts = argument.split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        settings.put("default.key.serde", Serdes.StringSerde.class.getName());
        settings.put("default.value.serde", Serdes.StringSerde.class.getName());
        settings.put("statestore.cache.max.bytes", "0");
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(settings.remove("input").toString())
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word)
            .count(Materialized.as("counts"))
            .toStream()
            .mapValues(count -> Long.toString(count))
            .to(settings.remove("output").toString(), Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.setStateListener((now, before) -> System.out.println("state " + now));
        streams.start();
    }
}
