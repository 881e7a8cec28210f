import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.sql.SparkSession;

/**
 * Statements executes statements of Spark SQL. The file of its argument has one on each line; LF within one is the two
 * characters backslash and n, a backslash two of them. For each it prints ok, or error and what Spark said, on a line.
 */
public final class Statements {
  public static void main(String[] args) throws Exception {
    SparkSession spark = SparkSession.builder().enableHiveSupport().getOrCreate();
    spark.sparkContext().setLogLevel("OFF");
    System.out.println("version " + spark.version());
    for (String line : Files.readAllLines(Path.of(args[0]), StandardCharsets.UTF_8)) {
      StringBuilder statement = new StringBuilder();
      for (int i = 0; i < line.length(); i++) {
        char c = line.charAt(i);
        if (c == '\\') {
          c = line.charAt(++i) == 'n' ? '\n' : '\\';
        }
        statement.append(c);
      }
      try {
        spark.sql(statement.toString());
        System.out.println("ok");
      } catch (Exception e) {
        System.out.println("error " + String.valueOf(e.getMessage()).replace('\n', ' '));
      }
    }
    spark.stop();
  }
}
