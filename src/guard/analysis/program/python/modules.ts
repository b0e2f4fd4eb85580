import { imported, type ModuleRule, words } from "../known-functions.js";

/** What importing a module says about a program. */
export const PYTHON_MODULES: readonly ModuleRule[] = [
  imported(
    "high",
    "native-code",
    "Calls native code: no rule of this language holds there.",
    words("ctypes _ctypes cffi _cffi_backend ptrace keystone pwn pwnlib frida"),
  ),
  imported(
    "medium",
    "process-module",
    "Starts other programs.",
    words("subprocess pty pexpect sh plumbum invoke fabric _posixsubprocess commands popen2"),
  ),
  {
    rule: "network",
    level: "medium",
    modules: words(`
      socket _socket ssl requests httpx aiohttp urllib3 urllib urllib2 http httplib ftplib smtplib poplib
      imaplib telnetlib nntplib socketserver xmlrpc websocket websockets paramiko asyncssh scp pycurl grpc
      zmq pika kafka redis pymongo boto3 botocore selenium playwright scrapy flask fastapi uvicorn django
      tornado twisted gevent eventlet dns scapy psycopg2 pymysql mysql slack_sdk telegram discord tweepy
      openai anthropic google azure kubernetes ldap3 impacket stem
    `),
    why: "Talks to the network.",
  },
  imported("high", "container-control", "Drives the container daemon, which is root on the host.", [
    "docker",
    "podman",
  ]),
  imported(
    "high",
    "packet-forging",
    "Forges or listens to packets.",
    words("scapy impacket nmap pcapy pyshark"),
  ),
  imported(
    "high",
    "input-capture",
    "Watches or controls a person's keyboard, screen or microphone.",
    words("pynput keyboard mss pyautogui evdev pyxhook sounddevice"),
  ),
  imported(
    "medium",
    "deserialization",
    "Reading such data can run code.",
    words("pickle _pickle cPickle dill cloudpickle shelve marshal jsonpickle"),
  ),
  imported(
    "medium",
    "dynamic-code",
    "Runs or loads code that is not in the program.",
    words("code codeop runpy imp zipimport pkgutil"),
  ),
  imported(
    "low",
    "system-module",
    "Reaches files and the system.",
    words("os posix shutil pathlib glob fileinput tempfile zipfile tarfile sqlite3 dbm"),
  ),
  imported(
    "low",
    "system-module",
    "Reaches into the interpreter or starts copies of it.",
    words("importlib builtins gc inspect ast dis multiprocessing concurrent.futures.process"),
  ),
  imported(
    "low",
    "system-module",
    "Reaches the system.",
    words("signal resource fcntl mmap pwd grp spwd crypt platform psutil termios"),
  ),
];

/** Modules that only compute, or whose risky functions have rules of their own. */
export const HARMLESS_MODULES: ReadonlySet<string> = new Set(
  `__future__ abc aifc argparse array asyncio atexit audioop base64 bdb binascii bisect bz2 cProfile calendar chunk cmath
  cmd codecs collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg csv curses
  dataclasses datetime decimal difflib distutils doctest email encodings ensurepip enum errno faulthandler filecmp fnmatch
  fractions functools genericpath getopt getpass gettext graphlib gzip hashlib heapq hmac html imghdr io ipaddress
  itertools json keyword linecache locale logging lzma mailbox mailcap math mimetypes modulefinder netrc numbers opcode
  operator optparse pdb pickletools pipes plistlib posixpath pprint profile pstats py_compile pyclbr pydoc pyexpat queue
  quopri random re readline reprlib rlcompleter sched secrets select selectors shlex stat statistics string stringprep
  struct symtable sys sysconfig tabnanny test textwrap this threading time timeit tkinter token tokenize tomllib trace
  traceback tracemalloc tty turtle types typing unicodedata unittest uu uuid warnings wave weakref xml zipapp zlib zoneinfo
  numpy np pandas scipy sympy sklearn statsmodels networkx torch torchvision tensorflow keras jax xgboost lightgbm
  matplotlib seaborn plotly altair bokeh PIL cv2 skimage imageio tqdm pydantic attr attrs dateutil pytz arrow pendulum
  pytest hypothesis typing_extensions rich tabulate more_itertools toolz nltk spacy gensim textblob transformers
  tokenizers regex faker jinja2 markdown bs4 lxml html5lib chardet charset_normalizer cryptography yaml toml click typer
  mpmath numba polars pyarrow openpyxl xlrd docx pypdf PyPDF2 reportlab pytest_mock freezegun joblib dotenv colorama
  termcolor simplejson orjson ujson msgpack packaging setuptools pyparsing ply lark shapely geopandas folium wordcloud
  jsonschema marshmallow loguru structlog gym gymnasium`.split(/\s+/),
);
