// OldWay: HFiles by Spark, the way that many jobs still do it. Every cell becomes a pair ((row key, qualifier), value) of its own,
// the pairs are partitioned by region and sorted, and HBase's HFileOutputFormat2 writes them.
//
//   OldWay DUMP OUT TABLE COLUMN,...    check's row key; 0x01 between columns, 0x10 after each record

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.io.ImmutableBytesWritable;
import org.apache.hadoop.hbase.mapreduce.HFileOutputFormat2;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;
import org.apache.spark.Partitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

public final class OldWay {
  private static final byte[] FAMILY = {'f'};

  public static void main(String[] args) throws Exception {
    String dump = args[0];
    String out = args[1];
    String[] columns = args[3].split(",");
    Configuration conf = HBaseConfiguration.create();
    conf.set("textinputformat.record.delimiter", "\u0010");
    Job job = Job.getInstance(conf);
    int regions;
    try (Connection connection = ConnectionFactory.createConnection(conf);
        Table table = connection.getTable(TableName.valueOf(args[2]));
        RegionLocator locator = connection.getRegionLocator(table.getName())) {
      regions = locator.getStartKeys().length;
      job.setMapOutputKeyClass(ImmutableBytesWritable.class);
      job.setMapOutputValueClass(KeyValue.class);
      // The table's compression, encoding, bloom type and block size.
      HFileOutputFormat2.configureIncrementalLoadMap(job, table.getDescriptor());
    }
    long timestamp = System.currentTimeMillis();
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
      JavaPairRDD<Tuple2<String, String>, String> cells = spark
          .newAPIHadoopFile(dump, TextInputFormat.class, LongWritable.class, Text.class, conf)
          .values()
          .flatMapToPair(record -> {
            String[] fields = record.toString().split("\u0001", -1);
            String key = rowKey(fields[1], fields[0], regions);
            List<Tuple2<Tuple2<String, String>, String>> pairs = new ArrayList<>(columns.length);
            for (int i = 0; i < columns.length; i++) {
              pairs.add(new Tuple2<>(new Tuple2<>(key, columns[i]), fields[i]));
            }
            return pairs.iterator();
          });
      cells.repartitionAndSortWithinPartitions(new BySalt(regions), new ByKey())
          .mapToPair(cell -> {
            byte[] row = cell._1()._1().getBytes(StandardCharsets.UTF_8);
            KeyValue kv = new KeyValue(row, FAMILY, cell._1()._2().getBytes(StandardCharsets.UTF_8), timestamp,
                cell._2().getBytes(StandardCharsets.UTF_8));
            return new Tuple2<>(new ImmutableBytesWritable(row), kv);
          })
          .saveAsNewAPIHadoopFile(out, ImmutableBytesWritable.class, KeyValue.class, HFileOutputFormat2.class,
              job.getConfiguration());
    }
  }

  private static String rowKey(String query, String id, int regions) throws Exception {
    StringBuilder b = new StringBuilder(68);
    String salt = String.valueOf(Math.abs(query.hashCode() % regions));
    for (int n = String.valueOf(regions - 1).length() - salt.length(); n > 0; n--) {
      b.append('0');
    }
    b.append(salt);
    for (byte x : MessageDigest.getInstance("MD5").digest(query.getBytes(StandardCharsets.UTF_8))) {
      b.append(Character.forDigit(x >> 4 & 15, 16)).append(Character.forDigit(x & 15, 16));
    }
    return b.append(id).toString();
  }

  private static final class BySalt extends Partitioner {
    private final int regions;
    private final int width;

    BySalt(int regions) {
      this.regions = regions;
      this.width = String.valueOf(regions - 1).length();
    }

    @Override
    public int numPartitions() {
      return regions;
    }

    @Override
    public int getPartition(Object key) {
      return Integer.parseInt(((String) ((Tuple2<?, ?>) key)._1()).substring(0, width));
    }
  }

  private static final class ByKey implements Comparator<Tuple2<String, String>>, java.io.Serializable {
    @Override
    public int compare(Tuple2<String, String> a, Tuple2<String, String> b) {
      int c = a._1().compareTo(b._1());
      return c != 0 ? c : a._2().compareTo(b._2());
    }
  }
}
