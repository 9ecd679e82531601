import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Copies a topic to another in transactions, with the offsets of its group. Every fifth transaction is aborted and done
 * again. Arguments: bootstrap, input, output, transactional id, group, further settings of the producer as name=value.
 * It prints one line per committed transaction, and runs until it is killed.
 */
public final class Copy {
    public static void main(String[] arguments) {
        Properties common = new Properties();
        common.put("bootstrap.servers", arguments[0]);
        common.put("reconnect.backoff.max.ms", "100");
        Properties producing = new Properties();
        producing.putAll(common);
        producing.put("transactional.id", arguments[3]);
        producing.put("transaction.timeout.ms", "5000");
        for (int i = 5; i < arguments.length; i++) {
            String[] parts = arguments[i].split("=", 2);
            producing.put(parts[0], parts[1]);
        }
        Properties consuming = new Properties();
        consuming.putAll(common);
        consuming.put("group.id", arguments[4]);
        consuming.put("enable.auto.commit", "false");
        consuming.put("auto.offset.reset", "earliest");
        consuming.put("isolation.level", "read_committed");
        consuming.put("max.poll.records", "20");
        consuming.put("session.timeout.ms", "6000");
        KafkaConsumer<String, String> consumer =
            new KafkaConsumer<>(consuming, new StringDeserializer(), new StringDeserializer());
        KafkaProducer<String, String> producer =
            new KafkaProducer<>(producing, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        consumer.subscribe(List.of(arguments[1]));
        int number = 0;
        while (true) {
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));
            if (records.isEmpty()) {
                continue;
            }
            number++;
            try {
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
                for (ConsumerRecord<String, String> record : records) {
                    producer.send(new ProducerRecord<>(arguments[2], null, record.key(), record.value()));
                    next.put(new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1));
                }
                producer.sendOffsetsToTransaction(next, consumer.groupMetadata());
                if (number % 5 == 0) {
                    throw new KafkaException("aborted on purpose");
                }
                producer.commitTransaction();
                System.out.println("committed " + records.count());
            } catch (ProducerFencedException fenced) {
                System.out.println("fenced");
                System.exit(3);
            } catch (KafkaException error) {
                producer.abortTransaction();
                Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
                for (TopicPartition place : consumer.assignment()) {
                    OffsetAndMetadata found = committed.get(place);
                    if (found == null) {
                        consumer.seekToBeginning(List.of(place));
                    } else {
                        consumer.seek(place, found);
                    }
                }
            }
        }
    }
}
