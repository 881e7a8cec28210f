// HFileJudge lets HBase's own classes write, read and judge HFiles on local disk.
//
//   write OUT [--compression C] [--encoding E] [--bloom B] [--blocksize N] [--now MS] [--task ID] [-D NAME=VALUE]…
//                           the cells on standard input, written as HFileOutputFormat2 writes them
//   cells FILE              every cell, as HBase's scanner gives it
//   blocks FILE             every block, the trailer, the file info and the root index, one line each
//   check [--probes N] FILE…  one JSON object a file: what it is, and what is wrong with it; status 1 if anything is
//   verdicts                what a region server makes of each file that standard input names (ServerReading)
//   batch                   many of these commands in one JVM: a line is STDIN, STDOUT and the command's words,
//                           separated by tabs; the answer is "ok STATUS" or "error WHAT"
//
// Cells are lines (CellLines).

import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;

public class HFileJudge {
  public static void main(String[] args) throws Exception {
    Logger.getRootLogger().setLevel(Level.OFF);
    PrintStream out = System.out;
    System.setOut(System.err); // no library may write between the answers
    List<String> words = Arrays.asList(args);
    int status = 0;
    if (words.equals(List.of("verdicts"))) {
      ServerReading.serve(System.in, out);
    } else if (words.equals(List.of("batch"))) {
      batch(System.in, out);
    } else {
      try (PrintStream buffered = new PrintStream(new BufferedOutputStream(out, 1 << 16), false, StandardCharsets.UTF_8)) {
        status = run(words, System.in, buffered);
      }
    }
    System.exit(status);
  }

  /** Runs one command and gives its status. */
  static int run(List<String> words, InputStream in, PrintStream out) throws Exception {
    String command = words.isEmpty() ? "" : words.get(0);
    List<String> rest = words.subList(Math.min(1, words.size()), words.size());
    switch (command) {
      case "write":
        FileWriting.write(rest.get(0), rest.subList(1, rest.size()), in);
        return 0;
      case "cells":
        CellLines.print(rest.get(0), out);
        return 0;
      case "blocks":
        LayoutDump.print(rest.get(0), out);
        return 0;
      case "check":
        return check(rest, out);
      default:
        throw new IllegalArgumentException("no command \"" + command + "\": see the head of HFileJudge.java");
    }
  }

  private static int check(List<String> words, PrintStream out) {
    int probes = 20_000;
    if (words.get(0).equals("--probes")) {
      probes = Integer.parseInt(words.get(1));
      words = words.subList(2, words.size());
    }
    int status = 0;
    for (String file : words) {
      FileCheck check = new FileCheck(file, probes);
      if (!check.run()) status = 1;
      out.println(check.json());
    }
    return status;
  }

  private static void batch(InputStream commands, PrintStream answers) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(commands, StandardCharsets.UTF_8));
    for (String line; (line = lines.readLine()) != null;) {
      List<String> words = Arrays.asList(line.split("\t", -1));
      String answer;
      try (InputStream in = words.get(0).equals("-") ? InputStream.nullInputStream() : new FileInputStream(words.get(0));
          PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(words.get(1)), 1 << 16), false, StandardCharsets.UTF_8)) {
        answer = "ok " + run(words.subList(2, words.size()), in, out);
      } catch (Throwable e) {
        answer = "error " + e.toString().replaceAll("[\r\n]+", " ");
      }
      answers.println(answer);
      answers.flush();
    }
  }
}
