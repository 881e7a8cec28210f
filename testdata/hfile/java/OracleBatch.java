// OracleBatch runs many commands of HFileOracle in one JVM. It is compiled together with it.
//
// A line on standard input is one command: fields separated by a tab, first the file that the command
// gets as its standard input ("-" for none), then the file that gets its standard output, then the words
// of the command: those of the oracle, or "roll DIR MAX". A line of answer is printed for each: "ok" with
// the command's status, or "error" with what was thrown.

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.io.ImmutableBytesWritable;
import org.apache.hadoop.hbase.mapreduce.HFileOutputFormat2;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;

public class OracleBatch {
  public static void main(String[] args) throws Exception {
    org.apache.log4j.Logger root = org.apache.log4j.Logger.getRootLogger();
    root.addAppender(new org.apache.log4j.ConsoleAppender(new org.apache.log4j.SimpleLayout(), "System.err"));
    root.setLevel(org.apache.log4j.Level.ERROR);
    PrintStream answers = System.out;
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    String line;
    while ((line = commands.readLine()) != null) {
      String answer;
      try {
        answer = "ok " + run(line.split("\t", -1));
      } catch (Throwable e) {
        answer = "error " + e.toString().replace('\n', ' ');
      }
      System.setOut(answers);
      answers.println(answer);
      answers.flush();
    }
  }

  static int run(String[] f) throws Exception {
    String[] words = Arrays.copyOfRange(f, 2, f.length);
    try (InputStream in = f[0].equals("-") ? new ByteArrayInputStream(new byte[0]) : new FileInputStream(f[0]);
        PrintStream out = new PrintStream(new FileOutputStream(f[1]), false, "UTF-8")) {
      System.setIn(in);
      System.setOut(out);
      switch (words[0]) {
        case "write": HFileOracle.write(words); return 0;
        case "cells": HFileOracle.cells(words[1]); return 0;
        case "blocks": HFileOracle.blocks(words[1]); return 0;
        case "check": return HFileOracle.check(words);
        case "roll": roll(words[1], words[2]); return 0;
        default: throw new IllegalArgumentException("no command " + words[0]);
      }
    }
  }

  /** Writes the cells on standard input through HFileOutputFormat2 into a directory, files of at most so many bytes. */
  static void roll(String dir, String most) throws Exception {
    Configuration conf = HFileOracle.conf();
    conf.set("hbase.mapreduce.hfileoutputformat.table.name", "t");
    conf.set("hbase.hregion.max.filesize", most);
    conf.set(FileOutputFormat.OUTDIR, HFileOracle.localPath(dir).toString());
    TaskAttemptContext context = new TaskAttemptContextImpl(conf, TaskAttemptID.forName(HFileOracle.DEFAULT_TASK));
    RecordWriter<ImmutableBytesWritable, Cell> w = new HFileOutputFormat2().getRecordWriter(context);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    String line;
    while ((line = in.readLine()) != null) {
      Cell c = HFileOracle.parseCell(line);
      w.write(new ImmutableBytesWritable(CellUtil.cloneRow(c)), c);
    }
    w.close(context);
  }
}
