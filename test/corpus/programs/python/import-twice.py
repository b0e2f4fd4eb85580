import sys
import decimal
first = decimal
for name in [n for n in sys.modules if "decimal" in n]: del sys.modules[name]
import decimal
print(decimal is first, decimal.Decimal("1.10"))
import asyncio.queues, asyncio
print(asyncio.queues.__name__, "asyncio.queues" in sys.modules)
