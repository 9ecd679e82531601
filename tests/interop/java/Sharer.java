import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;

/**
 * A member of a share group that polls in a thread of its own. It releases the first delivery of as many records as it is
 * told to, and accepts all others.
 */
final class Sharer {
    private final List<byte[]> accepted = new ArrayList<>();
    private final KafkaShareConsumer<byte[], byte[]> consumer;
    private final Thread thread;
    private int releases;
    private volatile boolean leaving;
    private volatile RuntimeException failure;

    Sharer(Properties settings, JsonNode topics, int releases) {
        List<String> names = new ArrayList<>();
        topics.forEach(topic -> names.add(topic.asText()));
        this.releases = releases;
        settings.remove("auto.offset.reset");
        settings.remove("enable.auto.commit");
        settings.put("share.acknowledgement.mode", "explicit");
        consumer = new KafkaShareConsumer<>(settings);
        consumer.subscribe(names);
        thread = new Thread(this::run, "sharer");
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        try {
            while (!leaving) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(50))) {
                    take(record);
                }
                consumer.commitSync().values().forEach(error -> error.ifPresent(Throwable::printStackTrace));
            }
            consumer.close();
        } catch (RuntimeException error) {
            failure = error;
        }
    }

    private void take(ConsumerRecord<byte[], byte[]> record) {
        boolean isFirst = record.deliveryCount().orElse((short) 1) == 1;
        if (isFirst && releases > 0) {
            releases--;
            consumer.acknowledge(record, AcknowledgeType.RELEASE);
            return;
        }
        consumer.acknowledge(record, AcknowledgeType.ACCEPT);
        synchronized (accepted) {
            accepted.add(record.value());
        }
    }

    ArrayNode values() {
        if (failure != null) {
            throw failure;
        }
        ArrayNode found = Driver.JSON.createArrayNode();
        synchronized (accepted) {
            accepted.forEach(found::add);
        }
        return found;
    }

    void leave() throws InterruptedException {
        leaving = true;
        thread.join(30_000);
    }
}
