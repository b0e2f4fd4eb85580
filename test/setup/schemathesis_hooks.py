"""What schemathesis does not know by itself. Loaded by test/e2e/server-fuzz.soak.test.ts."""

import schemathesis

# Any bytes will do: an invalid archive has to be refused.
schemathesis.serializer.alias("application/x-tar", "application/octet-stream")
