import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;

/** A member of a group that polls in a thread of its own: a consumer may be touched by that thread only. */
final class Member {
    private final LinkedBlockingQueue<Runnable> orders = new LinkedBlockingQueue<>();
    private final List<byte[]> values = new ArrayList<>();
    private final Thread thread;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private volatile Set<TopicPartition> assigned = Set.of();
    private volatile boolean leaving;

    Member(Properties settings, JsonNode topics, JsonNode pattern) {
        List<String> names = new ArrayList<>();
        topics.forEach(topic -> names.add(topic.asText()));
        consumer = new KafkaConsumer<>(settings);
        if (pattern.isTextual()) {
            consumer.subscribe(new SubscriptionPattern(pattern.asText()));
        } else {
            consumer.subscribe(names);
        }
        thread = new Thread(this::run, "member");
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        while (!leaving) {
            consumer.poll(Duration.ofMillis(20)).forEach(record -> {
                synchronized (values) {
                    values.add(record.value());
                }
            });
            assigned = Set.copyOf(consumer.assignment());
            for (Runnable order = orders.poll(); order != null; order = orders.poll()) {
                order.run();
            }
        }
        consumer.close();
    }

    ArrayNode assignment() {
        ArrayNode found = Driver.JSON.createArrayNode();
        assigned.forEach(place -> found.addArray().add(place.topic()).add(place.partition()));
        return found;
    }

    ArrayNode values() {
        ArrayNode found = Driver.JSON.createArrayNode();
        synchronized (values) {
            values.forEach(found::add);
        }
        return found;
    }

    void commit() throws Exception {
        CompletableFuture<Void> done = new CompletableFuture<>();
        orders.add(() -> {
            try {
                consumer.commitSync();
                done.complete(null);
            } catch (RuntimeException error) {
                done.completeExceptionally(error);
            }
        });
        done.get(30, TimeUnit.SECONDS);
    }

    void leave() throws InterruptedException {
        leaving = true;
        thread.join(30_000);
    }
}
