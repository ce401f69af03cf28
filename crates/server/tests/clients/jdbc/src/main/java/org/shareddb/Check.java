package org.shareddb;

import java.io.StringReader;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.postgresql.PGConnection;

/** pgjdbc against a running server: types, fetch size, batches, metadata, in three protocol modes. */
public final class Check {
  /** One thing to check. */
  private interface Step {
    void run(Connection connection) throws Exception;
  }

  private static int failed = 0;

  public static void main(String[] arguments) {
    for (String mode : List.of("", "&prepareThreshold=-1", "&preferQueryMode=simple")) {
      check(mode, "types", Check::types);
      check(mode, "fetch size", Check::fetchSize);
      check(mode, "batch", Check::batch);
      check(mode, "transactions", Check::transactions);
      check(mode, "generated keys", Check::generatedKeys);
      check(mode, "copy", Check::copy);
      check(mode, "cancel", Check::cancel);
      check(mode, "changed table", Check::changedTable);
      check(mode, "metadata", Check::metadata);
    }
    if (failed > 0) {
      System.exit(1);
    }
  }

  private static void check(String mode, String name, Step step) {
    String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT")
        + "/" + System.getenv("PGDATABASE") + "?user=" + System.getenv("PGUSER") + mode;
    try (Connection connection = DriverManager.getConnection(url)) {
      step.run(connection);
    } catch (Throwable failure) {
      failed++;
      System.out.println("jdbc: " + name + " failed" + (mode.isEmpty() ? "" : " with " + mode));
      failure.printStackTrace(System.out);
    }
  }

  private static void equal(Object expected, Object actual, String what) {
    boolean same = expected instanceof byte[] bytes
        ? Arrays.equals(bytes, (byte[]) actual)
        : Objects.equals(expected, actual);
    if (!same) {
      throw new AssertionError(what + ": expected " + expected + ", got " + actual);
    }
  }

  private static void run(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** From the sixth execution on the driver asks for binary values. */
  private static void types(Connection connection) throws SQLException {
    run(connection, "DROP TABLE IF EXISTS jdbc_types");
    run(connection, "CREATE TABLE jdbc_types (id integer PRIMARY KEY, b boolean, i2 smallint, i4 integer,"
        + " i8 bigint, f4 real, f8 double precision, n numeric(20,5), t text, v varchar(20), c char(4),"
        + " d date, ts timestamp, tz timestamptz, y bytea)");
    Object[] row = {true, (short) -3, 7, Long.MIN_VALUE, 1.5f, 0.1, new BigDecimal("-123456.78900"),
        "grüß", "x'y", "ab", Date.valueOf("2024-02-29"), Timestamp.valueOf("1999-12-31 23:59:59.123456"),
        Timestamp.valueOf("2024-03-01 12:00:00"), new byte[] {0, 1, (byte) 255}};
    String marks = "?,".repeat(row.length) + "?";
    try (PreparedStatement insert =
        connection.prepareStatement("INSERT INTO jdbc_types VALUES (" + marks + ")")) {
      for (int id = 0; id < 8; id++) {
        insert.setInt(1, id);
        for (int i = 0; i < row.length; i++) {
          insert.setObject(i + 2, row[i]);
        }
        equal(1, insert.executeUpdate(), "rows inserted");
      }
    }
    try (PreparedStatement select =
        connection.prepareStatement("SELECT * FROM jdbc_types WHERE id = ?")) {
      for (int id = 0; id < 8; id++) {
        select.setInt(1, id);
        try (ResultSet rows = select.executeQuery()) {
          equal(true, rows.next(), "a row");
          expectRow(rows, row);
        }
      }
    }
    run(connection, "DROP TABLE jdbc_types");
  }

  private static void expectRow(ResultSet rows, Object[] row) throws SQLException {
    equal(row[0], rows.getBoolean("b"), "boolean");
    equal(row[1], rows.getShort("i2"), "smallint");
    equal(row[2], rows.getInt("i4"), "integer");
    equal(row[3], rows.getLong("i8"), "bigint");
    equal(row[4], rows.getFloat("f4"), "real");
    equal(row[5], rows.getDouble("f8"), "double precision");
    equal(row[6], rows.getBigDecimal("n"), "numeric");
    equal(row[7], rows.getString("t"), "text");
    equal(row[8], rows.getString("v"), "varchar");
    equal("ab  ", rows.getString("c"), "char");
    equal(row[10], rows.getDate("d"), "date");
    equal(row[11], rows.getTimestamp("ts"), "timestamp");
    equal(row[12], rows.getTimestamp("tz"), "timestamptz");
    equal(row[13], rows.getBytes("y"), "bytea");
  }

  private static void fetchSize(Connection connection) throws SQLException {
    fill(connection, "jdbc_fetch", 1000);
    connection.setAutoCommit(false);
    try (Statement outer = connection.createStatement();
        PreparedStatement inner =
            connection.prepareStatement("SELECT i FROM jdbc_fetch WHERE i > ? ORDER BY i")) {
      outer.setFetchSize(10);
      inner.setFetchSize(7);
      inner.setInt(1, 900);
      try (ResultSet a = outer.executeQuery("SELECT i FROM jdbc_fetch ORDER BY i");
          ResultSet b = inner.executeQuery()) {
        for (int i = 0; i < 1000; i++) {
          equal(true, a.next(), "row " + i);
          equal(i, a.getInt(1), "value");
          equal(i < 99, b.next(), "interleaved row " + i);
        }
        equal(false, a.next(), "the end");
      }
    }
    connection.commit();
    connection.setAutoCommit(true);
    run(connection, "DROP TABLE jdbc_fetch");
  }

  private static void fill(Connection connection, String table, int rows) throws SQLException {
    run(connection, "DROP TABLE IF EXISTS " + table);
    run(connection, "CREATE TABLE " + table + " (i integer PRIMARY KEY, s text)");
    try (PreparedStatement insert =
        connection.prepareStatement("INSERT INTO " + table + " VALUES (?, ?)")) {
      for (int i = 0; i < rows; i++) {
        insert.setInt(1, i);
        insert.setString(2, "row " + i);
        insert.addBatch();
      }
      int[] counts = insert.executeBatch();
      equal(rows, counts.length, "batch results");
      equal(1, counts[rows - 1], "rows of the last");
    }
  }

  private static void batch(Connection connection) throws SQLException {
    fill(connection, "jdbc_batch", 500);
    try (PreparedStatement update =
        connection.prepareStatement("UPDATE jdbc_batch SET s = ? WHERE i = ?")) {
      for (int i : new int[] {1, 2, 9999}) {
        update.setString(1, "changed");
        update.setInt(2, i);
        update.addBatch();
      }
      equal("[1, 1, 0]", Arrays.toString(update.executeBatch()), "update counts");
    }
    run(connection, "DROP TABLE jdbc_batch");
  }

  private static void transactions(Connection connection) throws SQLException {
    fill(connection, "jdbc_tx", 3);
    connection.setAutoCommit(false);
    run(connection, "INSERT INTO jdbc_tx VALUES (10, 'x')");
    try {
      run(connection, "INSERT INTO jdbc_tx VALUES (1, 'twice')");
      throw new AssertionError("should fail");
    } catch (SQLException expected) {
      equal("23505", expected.getSQLState(), "state");
    }
    try {
      run(connection, "SELECT 1");
      throw new AssertionError("should fail");
    } catch (SQLException expected) {
      equal("25P02", expected.getSQLState(), "state");
    }
    connection.rollback();
    var savepoint = connection.setSavepoint("here");
    run(connection, "DELETE FROM jdbc_tx");
    connection.rollback(savepoint);
    connection.commit();
    connection.setAutoCommit(true);
    equal(3, count(connection, "SELECT count(*) FROM jdbc_tx"), "rows");
    connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
    equal(Connection.TRANSACTION_REPEATABLE_READ, connection.getTransactionIsolation(), "isolation");
    run(connection, "DROP TABLE jdbc_tx");
  }

  private static int count(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      rows.next();
      return rows.getInt(1);
    }
  }

  private static void generatedKeys(Connection connection) throws SQLException {
    run(connection, "DROP TABLE IF EXISTS jdbc_keys");
    run(connection, "CREATE TABLE jdbc_keys (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, s text)");
    try (PreparedStatement insert = connection.prepareStatement(
        "INSERT INTO jdbc_keys (s) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
      for (long id = 1; id <= 3; id++) {
        insert.setString(1, "s" + id);
        equal(1, insert.executeUpdate(), "rows inserted");
        try (ResultSet keys = insert.getGeneratedKeys()) {
          equal(true, keys.next(), "a key");
          equal(id, keys.getLong("id"), "the key");
        }
      }
    }
    run(connection, "DROP TABLE jdbc_keys");
  }

  private static void copy(Connection connection) throws Exception {
    fill(connection, "jdbc_copy", 1);
    var manager = connection.unwrap(PGConnection.class).getCopyAPI();
    StringBuilder lines = new StringBuilder();
    for (int i = 1; i <= 2000; i++) {
      lines.append(i).append("\tline ").append(i).append('\n');
    }
    long copied = manager.copyIn("COPY jdbc_copy FROM STDIN", new StringReader(lines.toString()));
    equal(2000L, copied, "rows copied");
    var out = new java.io.StringWriter();
    equal(2001L, manager.copyOut("COPY jdbc_copy TO STDOUT", out), "rows copied out");
    equal(2001L, out.toString().lines().count(), "lines");
    run(connection, "DROP TABLE jdbc_copy");
  }

  private static void cancel(Connection connection) throws Exception {
    fill(connection, "jdbc_cancel", 3000);
    try (Statement statement = connection.createStatement()) {
      var ended = new java.util.concurrent.CountDownLatch(1);
      Thread canceller = new Thread(() -> {
        try {
          // Again, if the first came before the statement.
          while (!ended.await(300, java.util.concurrent.TimeUnit.MILLISECONDS)) {
            statement.cancel();
          }
        } catch (InterruptedException | SQLException failure) {
          throw new AssertionError(failure);
        }
      });
      canceller.start();
      try {
        statement.executeQuery("SELECT count(*) FROM jdbc_cancel a, jdbc_cancel b, jdbc_cancel c"
            + " WHERE a.i * b.i + c.i = 7");
        throw new AssertionError("should be cancelled");
      } catch (SQLException expected) {
        equal("57014", expected.getSQLState(), "state");
      } finally {
        ended.countDown();
        canceller.join();
      }
    }
    equal(3000, count(connection, "SELECT count(*) FROM jdbc_cancel"), "rows");
    run(connection, "DROP TABLE jdbc_cancel");
  }

  /** A plan whose result type has changed is refused in the words that make the driver prepare again. */
  private static void changedTable(Connection connection) throws SQLException {
    fill(connection, "jdbc_changed", 1);
    try (PreparedStatement select = connection.prepareStatement("SELECT * FROM jdbc_changed")) {
      for (int i = 0; i < 7; i++) {
        select.executeQuery().close();
      }
      run(connection, "ALTER TABLE jdbc_changed ADD COLUMN extra integer");
      try (ResultSet rows = select.executeQuery()) {
        equal(3, rows.getMetaData().getColumnCount(), "columns");
      }
    }
    run(connection, "DROP TABLE jdbc_changed");
  }

  private static void metadata(Connection connection) throws SQLException {
    run(connection, "DROP TABLE IF EXISTS jdbc_child");
    run(connection, "DROP TABLE IF EXISTS jdbc_parent");
    run(connection, "CREATE TABLE jdbc_parent (a integer, b integer, PRIMARY KEY (a, b))");
    run(connection, "CREATE TABLE jdbc_child (id integer PRIMARY KEY, name varchar(30) NOT NULL,"
        + " price numeric(9,2), a integer, b integer, FOREIGN KEY (a, b) REFERENCES jdbc_parent (a, b))");
    run(connection, "CREATE INDEX jdbc_child_name ON jdbc_child (name)");
    DatabaseMetaData data = connection.getMetaData();
    equal(List.of("jdbc_child", "jdbc_parent"),
        column(data.getTables(null, "public", "jdbc%", new String[] {"TABLE"}), "TABLE_NAME"), "tables");
    equal(List.of("id", "name", "price", "a", "b"),
        column(data.getColumns(null, "public", "jdbc_child", "%"), "COLUMN_NAME"), "columns");
    equal(List.of("int4", "varchar", "numeric", "int4", "int4"),
        column(data.getColumns(null, "public", "jdbc_child", "%"), "TYPE_NAME"), "types");
    equal(List.of("a", "b"),
        column(data.getPrimaryKeys(null, "public", "jdbc_parent"), "COLUMN_NAME"), "primary key");
    equal(List.of("jdbc_child_pkey", "jdbc_child_name"),
        column(data.getIndexInfo(null, "public", "jdbc_child", false, false), "INDEX_NAME"), "indexes");
    equal(List.of("a", "b"),
        column(data.getImportedKeys(null, "public", "jdbc_child"), "PKCOLUMN_NAME"), "foreign key");
    equal(List.of("a", "b"),
        column(data.getExportedKeys(null, "public", "jdbc_parent"), "FKCOLUMN_NAME"), "exported key");
    equal(List.of("a", "b"),
        column(data.getBestRowIdentifier(null, "public", "jdbc_parent", 0, true), "COLUMN_NAME"), "best row");
    equal(true, column(data.getTypeInfo(), "TYPE_NAME").containsAll(List.of("int4", "text", "numeric")), "types");
    equal(true, column(data.getSchemas(), "TABLE_SCHEM").contains("public"), "schemas");
    run(connection, "DROP TABLE jdbc_child");
    run(connection, "DROP TABLE jdbc_parent");
  }

  private static List<String> column(ResultSet rows, String name) throws SQLException {
    List<String> values = new ArrayList<>();
    while (rows.next()) {
      values.add(rows.getString(name));
    }
    rows.close();
    return values;
  }

  private Check() {}
}
