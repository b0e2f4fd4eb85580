raise SystemExit(0x1234)
