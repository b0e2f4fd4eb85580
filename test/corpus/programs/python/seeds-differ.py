import random, uuid, tempfile, os, secrets, sys, subprocess
code = "import random,uuid,secrets;print(random.random(), uuid.uuid4(), secrets.token_hex(4))"
print(len({subprocess.run([sys.executable, "-c", code], capture_output=True).stdout for _ in range(3)}))
random.seed(42)
print(random.random(), random.randint(0, 100), random.sample(range(100), 5))
