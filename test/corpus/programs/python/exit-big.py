raise SystemExit(2**70)
