"""Fetches addresses and says what came back: run it with --allow-domain NAME."""
import sys
import urllib.error
import urllib.request

for address in sys.argv[1:]:
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            print(f"{address}: {answer.status}, {len(answer.read())} bytes")
    except urllib.error.HTTPError as error:
        print(f"{address}: {error.code} {error.reason}")
    except OSError as error:
        print(f"{address}: {error}")
