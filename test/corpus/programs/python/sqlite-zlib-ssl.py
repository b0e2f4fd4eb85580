import sqlite3, zlib, hashlib, ssl
c = sqlite3.connect(":memory:"); c.execute("create table t(x)"); c.execute("insert into t values (1),(2)")
print(c.execute("select sum(x) from t").fetchone(), zlib.crc32(b"x"), hashlib.md5(b"x").hexdigest(), len(ssl.RAND_bytes(8)))
