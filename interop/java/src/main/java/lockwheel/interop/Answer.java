package lockwheel.interop;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;

/** The result of a command: the words of its reply line. */
final class Answer {
  private final StringBuilder line = new StringBuilder();

  static Answer of(String name, Object value) {
    return new Answer().and(name, value);
  }

  Answer and(String name, Object value) {
    if (line.length() > 0) {
      line.append('&');
    }
    line.append(encode(name)).append('=').append(encode(String.valueOf(value)));
    return this;
  }

  @Override
  public String toString() {
    return line.toString();
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }
}
