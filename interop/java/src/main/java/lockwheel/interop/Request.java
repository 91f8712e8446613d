package lockwheel.interop;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** A command line: {@code 7 lock client=a&owner=main&kind=plain&name=n}. */
final class Request {
  final String id;
  final String command;
  private final Map<String, String> words = new HashMap<>();

  Request(String line) {
    String[] parts = line.split(" ", 3);
    id = parts[0];
    command = parts[1];
    if (parts.length == 3 && !parts[2].isEmpty()) {
      for (String word : parts[2].split("&")) {
        String[] pair = word.split("=", 2);
        words.put(decode(pair[0]), decode(pair[1]));
      }
    }
  }

  boolean has(String name) {
    return words.containsKey(name);
  }

  String text(String name) {
    String value = words.get(name);
    if (value == null) {
      throw new IllegalArgumentException(command + " needs " + name);
    }
    return value;
  }

  String text(String name, String otherwise) {
    return words.getOrDefault(name, otherwise);
  }

  long number(String name) {
    return Long.parseLong(text(name));
  }

  long number(String name, long otherwise) {
    return has(name) ? number(name) : otherwise;
  }

  private static String decode(String text) {
    return URLDecoder.decode(text, StandardCharsets.UTF_8);
  }
}
