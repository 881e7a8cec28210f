"""The texts that values of pyarrow have to become, for the scripts that write files of columns."""
import base64, datetime as dt, decimal, json, math, struct
import pyarrow as pa

D = decimal.Decimal


def fraction(ns):
    return ("." + "%09d" % ns).rstrip("0") if ns else ""


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def float_text(x, single=False):
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "Infinity" if x > 0 else "-Infinity"
    if x == 0:
        return "-0" if math.copysign(1, x) < 0 else "0"
    text = repr(x)
    if single:
        text = next(t for t in (f"%.{p}g" % x for p in range(1, 12)) if f32(float(t)) == x)
    d = D(text)
    if 1e-6 <= abs(x) < 1e21:
        text = format(d, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    sign, digits, exp = d.normalize().as_tuple()
    digits = "".join(map(str, digits))
    e = exp + len(digits) - 1
    return ("-" if sign else "") + digits[0] + ("." + digits[1:] if digits[1:] else "") + "e%s%02d" % ("-" if e < 0 else "+", abs(e))


def scalar(t, v):
    """The text of a value of a type, and whether it is a number in JSON."""
    if pa.types.is_boolean(t):
        return ("true" if v else "false"), True
    if pa.types.is_integer(t):
        return str(v), True
    if pa.types.is_floating(t):
        text = float_text(v, single=t.bit_width == 32)
        return text, text[-1].isdigit()
    if pa.types.is_decimal(t):
        return format(v, "f"), True
    if pa.types.is_date(t):
        return v.strftime("%Y-%m-%d").rjust(10, "0"), False
    if pa.types.is_timestamp(t):
        if v.tzinfo:
            v = v.astimezone(dt.timezone.utc)
        return v.strftime("%Y-%m-%d %H:%M:%S").rjust(19, "0") + fraction(v.microsecond * 1000), False
    if pa.types.is_time(t):
        return v.strftime("%H:%M:%S") + fraction(v.microsecond * 1000), False
    raise ValueError(t)


def union_branch(t, v):
    """A union's value does not say its type: each branch has another one in Python."""
    for i in range(t.num_fields):
        want = {"bool": bool, "int32": int, "string": str}[str(t.field(i).type)]
        if type(v) is want:
            return t.field(i).type


def compact(s):
    return json.dumps(s, ensure_ascii=False, separators=(",", ":"))


def to_json(t, v):
    if isinstance(t, pa.BaseExtensionType):
        t = t.storage_type
    if v is None:
        return "null"
    if pa.types.is_union(t):
        return to_json(union_branch(t, v), v)
    if pa.types.is_struct(t):
        return "{" + ",".join(compact(f.name) + ":" + to_json(f.type, v[f.name]) for f in t) + "}"
    if pa.types.is_map(t) and pa.types.is_nested(t.key_type):
        return "[" + ",".join('{"key":' + to_json(t.key_type, k) + ',"value":' + to_json(t.item_type, x) + "}" for k, x in v) + "]"
    if pa.types.is_map(t):
        return "{" + ",".join(as_key(t.key_type, k) + ":" + to_json(t.item_type, x) for k, x in v) + "}"
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return "[" + ",".join(to_json(t.value_type, x) for x in v) + "]"
    if pa.types.is_string(t) or pa.types.is_large_string(t):
        return compact(v)
    if pa.types.is_binary(t) or pa.types.is_fixed_size_binary(t):
        return compact(base64.b64encode(v).decode())
    text, number = scalar(t, v)
    return text if number else compact(text)


def as_key(t, v):
    text = to_json(t, v)
    return text if text.startswith('"') else compact(text)


def to_text(t, v):
    if v is None:
        return None
    if pa.types.is_union(t):
        return to_text(union_branch(t, v), v)
    if pa.types.is_string(t) or pa.types.is_large_string(t):
        return v
    if pa.types.is_binary(t):
        return v.decode(errors="surrogateescape")
    if pa.types.is_nested(t):
        return to_json(t, v)
    return scalar(t, v)[0]


def at(table, path):
    """A column by its path: of a struct's field as a list of values."""
    if path in table.column_names:
        return table.schema.field(path).type, table.column(path).to_pylist()
    name, rest = path.split(".", 1)
    t, values = table.schema.field(name).type, table.column(name).to_pylist()
    for part in [rest] if t.get_field_index(rest) >= 0 else rest.split("."):
        values = [None if v is None else v[part] for v in values]
        t = t.field(part).type
    return t, values


def expect(name, table, columns):
    found = [at(table, c) for c in columns]
    with open(name + ".jsonl", "w") as f:
        f.write(json.dumps(columns, ensure_ascii=False) + "\n")
        for i in range(table.num_rows):
            f.write(json.dumps({c: to_text(t, v[i]) for c, (t, v) in zip(columns, found)}, ensure_ascii=False) + "\n")
