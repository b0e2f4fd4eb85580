"""A file in, a file out:

./skerry run examples/word-count.py --input README.md:text.md --output counts.csv
"""

import collections
import csv
import re

with open("text.md", encoding="utf-8") as text:
    counts = collections.Counter(re.findall(r"[a-z]+", text.read().lower()))
with open("counts.csv", "w", newline="", encoding="utf-8") as table:
    csv.writer(table).writerows(counts.most_common())
print(f"{sum(counts.values())} words, {len(counts)} different")
