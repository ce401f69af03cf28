"""Odd values of the types that calls are formed over: bounds, signs, what is not a number, texts of several bytes, padding,
NULL."""

VALUES = {
    "bool": ("true", "false", None),
    "int2": ("0", "1", "-1", "7", "16", "32767", "-32768", None),
    "int4": ("0", "1", "-1", "2", "3", "-7", "12", "33", "100", "46341", "2147483647", "-2147483648", None),
    "int8": ("0", "1", "-1", "3", "-7", "34", "4294967296", "9223372036854775807", "-9223372036854775808", None),
    "float4": (
        "0", "-0", "1", "-2.5", "0.1", "1234567", "3.4028235e38", "1e-45", "NaN", "Infinity", "-Infinity", None,
    ),
    "float8": (
        "0", "-0", "1", "-0.5", "2.5", "0.1", "30", "1e15", "1.7976931348623157e308", "4.9e-324", "NaN", "Infinity",
        "-Infinity", None,
    ),
    "numeric": (
        "0", "0.00", "1", "-1", "1.50", "-2.5", "3", "7.5", "0.0001", "99.99", "-7", "12345678901234567890",
        "1e-20", "1e38", "NaN", "Infinity", "-Infinity", None,
    ),
    "text": (
        "", " ", "a", "A", "abc", "abcabc", "hello World-1st", "  x ", "Ünïcödé", "日本語", "a%", "%b%", "_b", "a\\",
        "a'b", "a\"b", "select", "hex", "base64", "escape", "YWJj", "616263", "1", "12", "2024-02-29", "day",
        "second", "month", "epoch", "UTC", "America/New_York", "YYYY-MM-DD HH24:MI:SS", "999.99", "Month dd, YYYY",
        "UTF8", None,
    ),
    "varchar": ("", "a", "a ", "abc  ", "Ünïcödé ", "日本語", "1", None),
    "bpchar": ("", "a", "a ", "A", "abc  ", "b", "Ünïcödé ", "%", None),
    "bytea": ("", "\\x00", "\\x61", "\\x616263", "\\xff", "\\x255f", "\\x2020612020", None),
    "date": (
        "2024-02-29", "2000-01-01", "1999-12-31", "1970-01-01", "0001-01-01", "4713-01-01 BC", "5874897-12-31",
        "infinity", "-infinity", None,
    ),
    "timestamp": (
        "2024-02-29 12:30:15.123456", "2000-01-01 00:00:00", "1999-12-31 23:59:59.9", "2024-03-31 02:30:00",
        "0001-01-01 00:00:00", "4713-01-01 00:00:00 BC", "294276-12-31 23:59:59.999999", "infinity", "-infinity",
        None,
    ),
    "timestamptz": (
        "2024-02-29 12:30:15.123456+00", "2000-01-01 00:00:00+00", "1999-12-31 23:59:59.9-08",
        "2024-03-31 02:30:00+02", "0001-01-01 00:00:00+00", "294276-12-31 23:59:59.999999+00", "infinity",
        "-infinity", None,
    ),
    "interval": (
        "0", "1 day", "24 hours", "1 month", "30 days", "-1 mon +2 days -03:04:05.678",
        "1 year 2 mons 3 days 04:05:06.789", "-178000000 years", "00:00:00.000001", None,
    ),
}  # fmt: skip
TYPES = tuple(VALUES)


def literal(name, value):
    if value is None:
        return f"NULL::{name}"
    quoted = value.replace("'", "''")
    return f"'{quoted}'::{name}"
