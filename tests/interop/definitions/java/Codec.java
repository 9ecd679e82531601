import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.concurrent.Callable;
import org.apache.kafka.common.errors.InvalidMetadataException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Kafka's generated classes behind a pipe.
 *
 * A request is a class, its version, another version, and samples of bytes and JSON. For each sample the response has
 * four results: the bytes after decoding and encoding, the JSON of the decoded message, the bytes of the message that
 * the JSON describes, and the decoded message encoded in the other version. A result is a flag, 1 if it is the text of
 * an exception, and its bytes. The class "errors" has one result: all error codes as JSON.
 */
final class Codec {
    // The trees hold doubles that JSON has no numbers for.
    private static final ObjectMapper JSON = JsonMapper.builder()
        .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
        .disable(JsonWriteFeature.WRITE_NAN_AS_STRINGS)
        .build();

    public static void main(String[] arguments) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        while (true) {
            String name;
            try {
                name = in.readUTF();
            } catch (EOFException end) {
                return;
            }
            if (name.equals("errors")) {
                write(out, () -> JSON.writeValueAsBytes(errors()));
            } else {
                answer(Class.forName(name), in, out);
            }
            out.flush();
        }
    }

    private static void answer(Class<?> kind, DataInputStream in, DataOutputStream pipe) throws Exception {
        // The caller reads only when it has written its whole request.
        ByteArrayOutputStream results = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(results);
        short version = in.readShort();
        short other = in.readShort();
        boolean converts = in.readBoolean();
        Class<?> converter = converts ? Class.forName(kind.getName() + "JsonConverter") : null;
        Method toJson = converts ? converter.getMethod("write", kind, short.class) : null;
        Method fromJson = converts ? converter.getMethod("read", JsonNode.class, short.class) : null;
        for (int left = in.readInt(); left > 0; left--) {
            byte[] bytes = in.readNBytes(in.readInt());
            byte[] json = in.readNBytes(in.readInt());
            write(out, () -> encode(decode(kind, bytes, version), version));
            write(out, () -> converts
                ? JSON.writeValueAsBytes(toJson.invoke(null, decode(kind, bytes, version), version)) : new byte[0]);
            write(out, () -> converts
                ? encode((Message) fromJson.invoke(null, JSON.readTree(json), version), version) : new byte[0]);
            write(out, () -> encode(decode(kind, bytes, version), other));
        }
        results.writeTo(pipe);
    }

    private static Message decode(Class<?> kind, byte[] bytes, short version) throws Exception {
        Message message = (Message) kind.getDeclaredConstructor().newInstance();
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        message.read(new ByteBufferAccessor(buffer), version);
        if (buffer.hasRemaining()) {
            throw new IOException(buffer.remaining() + " bytes are left");
        }
        return message;
    }

    private static byte[] encode(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        if (buffer.hasRemaining()) {
            throw new IllegalStateException("the size is " + buffer.remaining() + " bytes too large");
        }
        return buffer.array();
    }

    private static void write(DataOutputStream out, Callable<byte[]> work) throws IOException {
        byte[] result;
        boolean failed = false;
        try {
            result = work.call();
        } catch (Exception error) {
            Throwable cause = error.getCause() == null ? error : error.getCause();
            result = cause.toString().getBytes("UTF-8");
            failed = true;
        }
        out.writeBoolean(failed);
        out.writeInt(result.length);
        out.write(result);
    }

    private static ArrayNode errors() {
        ArrayNode found = JSON.createArrayNode();
        for (Errors error : Errors.values()) {
            String exception = error.exception() == null ? "-" : error.exception().getClass().getSimpleName();
            found.addObject()
                .put("code", error.code())
                .put("name", error.name())
                .put("exception", exception)
                .put("retriable", error.exception() instanceof RetriableException)
                .put("refresh_metadata", error.exception() instanceof InvalidMetadataException);
        }
        return found;
    }
}
