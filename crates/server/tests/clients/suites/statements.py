"""Cuts a psql script into statements, as psql's lexer would."""

import re

# psql's own commands, which end a statement and send it.
SENDING = ("\\g", "\\gset", "\\gx", "\\gexec", "\\gdesc", "\\crosstabview", "\\watch")
TOKEN = re.compile(
    r"""(?P<line_comment>--[^\n\r]*)
      | (?P<block_comment>/\*)
      | (?P<dollar>\$(?:[A-Za-z_\x80-\uffff][A-Za-z_0-9\x80-\uffff]*)?\$)
      | (?P<escaped>[eE]'(?:[^'\\]|\\.|'')*')
      | (?P<string>'(?:[^']|'')*')
      | (?P<name>"(?:[^"]|"")*")
      | (?P<word>[A-Za-z_\x80-\uffff][A-Za-z_0-9$\x80-\uffff]*)
      | (?P<backslash>\\[^\n]*)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


def end_of_comment(text, at):
    """Behind the end of a block comment that begins at `at`; they nest."""
    depth = 0
    for mark in re.compile(r"/\*|\*/").finditer(text, at):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)


def tokens(text):
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        kind, end = found.lastgroup, found.end()
        if kind == "block_comment":
            end = end_of_comment(text, at)
        elif kind == "dollar":
            close = text.find(found.group(), end)
            end = len(text) if close < 0 else close + len(found.group())
        yield kind, text[at:end]
        at = end


def statements(script):
    """Pairs of a statement and the lines that follow it as data (COPY .. FROM STDIN), or `None`. What psql's own commands
    would do is left out, with the statement that is sent by one."""
    lines = script.split("\n")
    pending, number = [], 0
    while number < len(lines):
        pending.append(lines[number])
        number += 1
        whole, rest = complete("\n".join(pending))
        for statement in whole:
            data = None
            if re.match(r"copy\b.*\bfrom\s+stdin\b", statement, re.IGNORECASE | re.DOTALL):
                end = next((at for at in range(number, len(lines)) if lines[at] == "\\."), len(lines))
                data, number = lines[number:end], end + 1
            yield statement, data
        pending = [rest] if rest.strip() else []
    if "".join(pending).strip():
        yield "\n".join(pending).strip(), None


def complete(text):
    """The statements that end within the text, and what is left; what is left open ends in no statement."""
    found, current, depth, body = [], [], 0, 0
    for kind, token in tokens(text):
        current.append(token)
        lower = token.lower()
        if kind == "other" and token in "([":
            depth += 1
        elif kind == "other" and token in ")]":
            depth = max(depth - 1, 0)
        elif kind == "word" and lower == "atomic" and re.search(r"begin\s+atomic$", "".join(current), re.IGNORECASE):
            body = 1
        elif kind == "word" and body and lower == "case":
            body += 1
        elif kind == "word" and body and lower == "end":
            body -= 1
        elif kind == "backslash":
            current.pop()
            if token.split()[0] in SENDING:
                current = []
        elif kind == "other" and token == ";" and depth == 0 and body == 0:
            statement = "".join(current[:-1]).strip()
            if any(kind not in ("line_comment", "block_comment") and token.strip() for kind, token in tokens(statement)):
                found.append(statement)
            current = []
    rest = "".join(current)
    open_quote = rest.rstrip() and any(kind == "other" and token in "'\"" for kind, token in tokens(rest))
    return found, rest if open_quote or rest.strip() else ""
