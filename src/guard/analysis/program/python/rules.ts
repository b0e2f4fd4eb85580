import { type ChainRule, type KnownFunction, known, SELF, words } from "../known-functions.js";
import { MARKS } from "../value.js";
import { PYTHON_FILE_RULES } from "./file-rules.js";

/** What a Python program can reach for, judged by the arguments where they are known. */
export const PYTHON_FUNCTIONS: readonly KnownFunction[] = [
  {
    rule: "dynamic-code",
    level: "medium",
    names: words(`
      builtins.exec builtins.eval builtins.execfile builtins.compile
      code.InteractiveInterpreter().runsource code.InteractiveConsole().runsource code.InteractiveConsole().push
    `),
    code: [0, "source"],
    why: "Runs code that is made while the program runs.",
  },
  {
    rule: "dynamic-code",
    level: "medium",
    names: words(`
      runpy.run_path runpy.run_module code.InteractiveConsole imp.load_source
      imp.load_module
    `),
    unpacks: 0,
    why: "Runs code from elsewhere.",
  },
  {
    rule: "timed-code",
    level: "safe",
    names: words(`
      timeit.timeit timeit.repeat timeit.Timer
    `),
    code: [0, "stmt"],
    alsoCode: [1, "setup"],
    why: "Runs code that is given as text.",
  },
  {
    rule: "timed-code",
    level: "safe",
    names: words(`
      cProfile.run cProfile.runctx profile.run profile.runctx pdb.run pdb.runeval bdb.Bdb().run bdb.Bdb().runeval
      trace.Trace().run trace.Trace().runctx cProfile.Profile().run cProfile.Profile().runctx
    `),
    code: [0, "stmt"],
    why: "Runs code that is given as text.",
  },
  known(
    "medium",
    "dynamic-code",
    "Resolves a name or runs a text in a way that is not looked into.",
    words(`
      logging.config.BaseConfigurator().resolve logging.config.fileConfig typing.get_type_hints
      doctest.testfile doctest.run_docstring_examples pickle.Unpickler().find_class pandas.eval pandas.read_pickle
      importlib.metadata.EntryPoint().load pkg_resources.EntryPoint.parse().resolve hydra.utils.instantiate
      yaml.constructor.UnsafeConstructor().find_python_name sympy.sympify timeit.main pdb.Pdb().onecmd site.addsitedir
      unittest.defaultTestLoader.loadTestsFromName dataclasses._create_fn multiprocessing.reduction.ForkingPickler.loads
      rlcompleter.Completer().attr_matches gettext.c2py zipimport.zipimporter().load_module
      builtins.breakpoint _interpreters.run_string _xxsubinterpreters.run_string _testcapi.run_in_subinterp
      code.interact idlelib.run.Executive
    `),
    { called: true, starts: ["unknown", 0] },
  ),
  known(
    "medium",
    "process",
    "Starts another program.",
    words(`
      uuid._get_command_stdout _osx_support._read_output _aix_support._read_cmd_output webbrowser.GenericBrowser
      webbrowser.BackgroundBrowser tkinter.Tcl tkinter.Tk().eval _tkinter.create pip.main pip._internal.cli.main.main
      ctypes.util._findLib_gcc git.Git().execute paramiko.ProxyCommand anyio.run_process anyio.open_process
      trio.run_process twisted.internet.utils.getProcessOutput distutils.cmd.Command setuptools._distutils.ccompiler.new_compiler
      distutils.ccompiler.new_compiler test.support.script_helper.run_python_until_end venv.create ensurepip.bootstrap
      http.server.CGIHTTPRequestHandler mailcap.findmatch pipes.Template multiprocessing.set_executable
      IPython.core.interactiveshell.InteractiveShell.instance
    `),
    { starts: ["unknown", 0] },
  ),
  known(
    "high",
    "native-code",
    "Loads native code.",
    words("*.load_extension *.load_dynamic *.create_dynamic"),
    {
      called: true,
      starts: ["unknown", 0],
    },
  ),
  known("low", "dynamic-import", "Imports a module by a name that is made while the program runs.", [
    "builtins.__import__",
    "importlib.import_module",
    "importlib.__import__",
  ]),
  {
    rule: "dynamic-import",
    level: "medium",
    names: words(`
      importlib.util.* importlib.machinery.* importlib.reload importlib._bootstrap.* zipimport.zipimporter
      pkgutil.get_loader
    `),
    why: "Loads code past the import statement.",
  },
  known(
    "high",
    "code-object",
    "Makes functions out of raw code.",
    words("types.CodeType types.FunctionType sys._getframe().f_globals ctypes.pythonapi.*"),
    { called: true, starts: ["unknown", 0] },
  ),
  {
    rule: "interpreter-internals",
    level: "medium",
    names: words(`
      sys._getframe sys.settrace sys.setprofile sys.meta_path sys.path_hooks gc.get_objects
      gc.get_referrers inspect.currentframe inspect.stack sys.modules sys.addaudithook
    `),
    why: "Reaches into the running interpreter.",
  },
  known(
    "safe",
    "hidden-data",
    "Unpacks data.",
    words("marshal.loads marshal.load zlib.decompress bz2.decompress lzma.decompress"),
    { returns: MARKS.decoded },
  ),
  {
    rule: "process",
    level: "medium",
    names: words(`
      os.system os.popen os.popen2 os.popen3 os.popen4 posix.system posix.popen nt.system platform.popen
      subprocess.getoutput
      subprocess.getstatusoutput commands.getoutput commands.getstatusoutput pexpect.run pexpect.spawn
      asyncio.create_subprocess_shell asyncio.subprocess.create_subprocess_shell
      builtins.get_ipython().system invoke.run IPython.utils.process.getoutput IPython.utils.process.system
    `),
    starts: ["command", [0, "command"]],
    endless: "high",
    why: "Starts a shell.",
  },
  {
    rule: "process",
    level: "medium",
    names: words(`
      subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen psutil.Popen
      _posixsubprocess.fork_exec distutils.spawn.spawn setuptools._distutils.spawn.spawn
      multiprocessing.popen_spawn_posix.Popen numpy.distutils.exec_command.exec_command
    `),
    starts: ["command", [0, "args"]],
    input: "input",
    endless: "high",
    why: "Starts another program.",
  },
  {
    rule: "process",
    level: "safe",
    names: words(`
      subprocess.PIPE subprocess.DEVNULL subprocess.STDOUT subprocess.CalledProcessError
      subprocess.TimeoutExpired subprocess.CompletedProcess subprocess.SubprocessError
      subprocess.list2cmdline
    `),
    why: "Part of starting a program.",
  },
  known(
    "medium",
    "process",
    "Starts another program.",
    words("asyncio.create_subprocess_exec asyncio.subprocess.create_subprocess_exec os.startfile"),
    { starts: ["words", 0], endless: "high" },
  ),
  known("medium", "process", "Runs what a notebook would.", words("*.run_line_magic *.run_cell_magic"), {
    starts: ["unknown", 0],
  }),
  known("medium", "process", "Starts another program.", ["*.subprocess_exec"], { starts: ["words", 1] }),
  known(
    "medium",
    "process",
    "Starts a shell.",
    words("*.subprocess_shell pydoc.pipepager pydoc.tempfilepager"),
    { starts: ["command", 1] },
  ),
  known("medium", "process", "Becomes another program.", words("os.execl os.execle os.execlp os.execlpe"), {
    starts: ["program-words", 0],
  }),
  {
    rule: "process",
    level: "medium",
    names: words(`
      os.execv os.execve os.execvp os.execvpe os.posix_spawn os.posix_spawnp posix.execv posix.execve
      posix.posix_spawn posix.posix_spawnp multiprocessing.util.spawnv_passfds
    `),
    starts: ["program-list", 0],
    paths: [[0, "read"]],
    endless: "high",
    why: "Becomes or starts another program.",
  },
  known(
    "medium",
    "process",
    "Starts another program.",
    words("os.spawnl os.spawnle os.spawnlp os.spawnlpe"),
    { starts: ["program-words", 1], endless: "high" },
  ),
  known(
    "medium",
    "process",
    "Starts another program.",
    words("os.spawnv os.spawnve os.spawnvp os.spawnvpe"),
    { starts: ["program-list", 1], endless: "high" },
  ),
  {
    rule: "process",
    level: "medium",
    names: words(`
      sh.* plumbum.local plumbum.local.* plumbum.cmd.* invoke.Context().run invoke.Context().sudo
      fabric.Connection().run fabric.Connection().local fabric.api.local fabric.api.run envoy.run delegator.run sarge.run
      sarge.capture_stdout webbrowser.open webbrowser.get imaplib.IMAP4_stream popen2.popen2 popen2.popen3 popen2.popen4
      pexpect.spawnu pexpect.popen_spawn.PopenSpawn pwn.process pwnlib.tubes.process.process ptyprocess.PtyProcess.spawn
    `),
    starts: ["unknown", 0],
    why: "Starts another program.",
  },
  known(
    "safe",
    "native-call",
    "Calls the C library's function of that name.",
    words("*.system *.popen *.execv *.execve *.execvp *.execl *.execlp *.posix_spawn"),
    { starts: ["command-if-text", 0] },
  ),
  known("high", "interactive-shell", "Gives the other end a shell with a terminal.", ["pty.spawn"], {
    starts: ["command", [0, "argv"]],
  }),
  known("medium", "fork", "Copies the process.", words("os.fork os.forkpty pty.fork posix.fork"), {
    endless: "critical",
  }),
  {
    rule: "copies",
    level: "low",
    names: words(`
      multiprocessing.Process multiprocessing.Pool multiprocessing.pool.Pool
      concurrent.futures.ProcessPoolExecutor
    `),
    endless: "high",
    why: "Starts copies of the interpreter.",
  },
  known(
    "safe",
    "threads",
    "Starts threads.",
    ["threading.Thread", "_thread.start_new_thread", "threading.Timer"],
    { endless: "high" },
  ),
  known(
    "medium",
    "descriptor-copy",
    "Puts a descriptor in place of another, such as a socket for a shell's input.",
    ["os.dup2", "os.dup"],
  ),
  known(
    "medium",
    "kill",
    "Signals processes.",
    words("os.kill os.killpg signal.pthread_kill signal.pidfd_send_signal"),
    { signals: 0 },
  ),
  {
    rule: "kill",
    level: "medium",
    names: words(
      "psutil.Process().kill psutil.Process().terminate psutil.Process().suspend psutil.Process().send_signal",
    ),
    signals: SELF,
    why: "Signals processes.",
  },
  {
    rule: "kill",
    level: "high",
    names: words(
      "psutil.process_iter()[].kill psutil.process_iter()[].terminate psutil.process_iter()[].suspend psutil.process_iter()[].send_signal",
    ),
    why: "Signals processes that are not its own.",
  },
  {
    rule: "privilege",
    level: "high",
    names: words(`
      os.setuid os.setgid os.seteuid os.setegid os.setreuid os.setresuid os.setresgid os.setgroups
      os.initgroups os.chroot os.unshare os.setns os.mknod os.lchown os.chown os.setxattr
    `),
    called: true,
    why: "Changes who the program is, or who owns a file.",
  },
  known(
    "low",
    "file-mode",
    "Changes who may use a file.",
    words("os.chmod os.lchmod os.fchmod pathlib.Path().chmod"),
    { called: true },
  ),
  known("low", "limits", "Changes the limits of the process.", [
    "resource.setrlimit",
    "os.nice",
    "os.sched_setscheduler",
  ]),
  known(
    "high",
    "native-code",
    "Calls native code: no rule of this language holds there.",
    words("ctypes.* cffi.* _ctypes.* mmap.PROT_EXEC numpy.ctypeslib.*"),
  ),
  {
    rule: "raw-socket",
    level: "high",
    names: words(`
      socket.SOCK_RAW socket.AF_PACKET socket.AF_NETLINK socket.AF_VSOCK socket.AF_ALG socket.IPPROTO_RAW
      socket.SO_BINDTODEVICE
    `),
    why: "Reads or forges packets below the usual protocols.",
  },
  {
    rule: "socket",
    level: "medium",
    names: words(`
      socket.socket socket.create_connection socket.socketpair socket.fromfd asyncio.open_connection
      asyncio.open_unix_connection _socket.socket ssl.SSLSocket ssl.wrap_socket
    `),
    sends: true,
    returns: MARKS.network,
    why: "Opens a connection of its own.",
  },
  {
    rule: "listener",
    level: "high",
    names: words(`
      socket.socket().bind socket.socket().listen socket.create_server socketserver.TCPServer
      socketserver.ThreadingTCPServer
    `),
    why: "Waits for connections from outside.",
  },
  known(
    "medium",
    "socket",
    "Uses a connection of its own.",
    ["socket.socket().*", "socket.create_connection().*"],
    { sends: true, returns: MARKS.network, called: true },
  ),
  {
    rule: "network",
    level: "safe",
    names: words(`
      socket.gethostname socket.getfqdn socket.AF_INET socket.SOCK_STREAM socket.timeout socket.error
      requests.exceptions.* requests.RequestException urllib.parse.* urllib.error.* http.HTTPStatus
      http.HTTPStatus.* requests.codes.*
    `),
    why: "Part of talking to the network.",
  },
  {
    rule: "network",
    level: "medium",
    names: words(`
      requests.* httpx.* aiohttp.* urllib.request.* urllib2.* urllib3.* http.client.* httplib.* ftplib.*
      smtplib.* poplib.* imaplib.* telnetlib.* nntplib.* xmlrpc.* websocket.* websockets.* paramiko.*
      asyncssh.* pycurl.* boto3.* dns.* zmq.* redis.* pymongo.* six.moves.urllib.request.* urllib.urlopen
      urllib.urlretrieve urllib.urlencode socket.gethostbyname socket.getaddrinfo socket.gethostbyname_ex
      http.server.* pip._vendor.requests.* scapy.* slack_sdk.* discord.* telegram.* selenium.*
      playwright.* kubernetes.* ldap3.* psycopg2.* psycopg.* pymysql.* mysql.* asyncpg.* google.cloud.* azure.*
    `),
    called: true,
    sends: true,
    returns: MARKS.network,
    why: "Talks to the network.",
  },
  known(
    "high",
    "persistence",
    "Starts a program again later, without being asked.",
    words("crontab.CronTab().new crontab.CronTab().write crontab.CronTab().write_to_user"),
    { called: true },
  ),
  ...PYTHON_FILE_RULES,
  {
    rule: "deserialization",
    level: "medium",
    names: words(`
      pickle.load pickle.loads pickle.Unpickler _pickle.loads _pickle.load cPickle.loads dill.load
      dill.loads cloudpickle.load cloudpickle.loads jsonpickle.decode yaml.load yaml.unsafe_load
      yaml.full_load yaml.load_all pandas.read_pickle shelve.Shelf
    `),
    unpacks: 0,
    why: "Data in this format can run code when it is read.",
  },
  {
    rule: "huge-allocation",
    level: "safe",
    names: words(`
      builtins.bytearray builtins.bytes numpy.zeros numpy.ones numpy.empty numpy.full os.urandom
      random.randbytes mmap.mmap
    `),
    amount: [0, 2 ** 30],
    why: "Takes memory.",
  },
  known("safe", "huge-allocation", "Takes space.", ["os.posix_fallocate", "os.ftruncate"], {
    amount: [2, 2 ** 36],
  }),
  known(
    "low",
    "environment",
    "Reads or changes the environment.",
    words("os.environ os.environb os.putenv os.unsetenv"),
  ),
  known("safe", "environment", "Reads one variable.", [
    "os.getenv",
    "os.environ.get",
    "os.environ.setdefault",
  ]),
  {
    rule: "system",
    level: "safe",
    names: words(`
      os.path.* os.getcwd os.sep os.linesep os.name os.getpid os.cpu_count os.urandom os.fspath os.stat
      os.environ.copy os.path os.PathLike os.devnull os.get_terminal_size
    `),
    why: "Asks the system.",
  },
  known(
    "high",
    "persistence",
    "Starts a program again later, without being asked.",
    words("winreg.SetValueEx winreg.SetValue winreg.CreateKey winreg.CreateKeyEx _winreg.SetValueEx"),
    { called: true },
  ),
  {
    rule: "credential-store",
    level: "low",
    names: words(
      "boto3.Session().get_credentials boto3.session.Session().get_credentials keyring.get_password keyring.get_credential pyperclip.paste secretstorage.* browser_cookie3.*",
    ),
    returns: MARKS.secret,
    called: true,
    why: "Reads what a person keeps secret.",
  },
  known(
    "medium",
    "accounts",
    "Lists the accounts of this machine.",
    words("pwd.getpwall grp.getgrall spwd.* crypt.*"),
  ),
  known("high", "key-log", "Watches a person's keyboard.", ["pynput.*", "keyboard.*", "evdev.*"]),
  known("high", "screen", "Takes pictures of a person's screen.", [
    "PIL.ImageGrab.grab",
    "mss.mss",
    "pyautogui.screenshot",
  ]),
  known(
    "medium",
    "monkey-patch",
    "Changes an object by a name that is made while the program runs.",
    ["builtins.setattr", "builtins.delattr"],
    { called: true },
  ),
];

/** Chains of attributes that lead from any object to everything. */
export const PYTHON_CHAINS: readonly ChainRule[] = [
  {
    rule: "class-climbing",
    level: "high",
    all: ["__class__", "__subclasses__"],
    why: "Climbs from an object to every class there is.",
  },
  {
    rule: "class-climbing",
    level: "medium",
    all: ["__class__", "__base__"],
    why: "Climbs from an object to every class there is.",
  },
  {
    rule: "class-climbing",
    level: "medium",
    all: ["__class__", "__bases__"],
    why: "Climbs from an object to every class there is.",
  },
  {
    rule: "class-climbing",
    level: "medium",
    all: ["__class__", "__mro__"],
    why: "Climbs from an object to every class there is.",
  },
  {
    rule: "class-climbing",
    level: "high",
    all: ["object", "__subclasses__"],
    why: "Climbs to every class there is.",
  },
  {
    rule: "class-climbing",
    level: "medium",
    all: ["__subclasses__"],
    why: "Looks for classes by what they derive from.",
  },
  {
    rule: "function-internals",
    level: "high",
    all: ["__globals__"],
    why: "Reaches every name of another function's module.",
  },
  {
    rule: "function-internals",
    level: "high",
    all: ["__builtins__"],
    why: "Reaches the builtin functions by a back door.",
  },
  {
    rule: "function-internals",
    level: "high",
    all: ["f_globals"],
    why: "Reaches every name of another function's module.",
  },
  {
    rule: "function-internals",
    level: "high",
    all: ["f_builtins"],
    why: "Reaches the builtin functions by a back door.",
  },
  {
    rule: "function-internals",
    level: "high",
    all: ["gi_frame", "f_back"],
    why: "Climbs out of a generator.",
  },
  {
    rule: "function-internals",
    level: "medium",
    all: ["__code__"],
    why: "Reads or replaces a function's code.",
  },
  {
    rule: "function-internals",
    level: "medium",
    all: ["__loader__"],
    why: "Loads modules past the import statement.",
  },
];

/** Names that are there without an import. Only those that a rule or a fold knows matter. */
export const BUILTINS: ReadonlySet<string> = new Set(
  `exec eval compile execfile __import__ open file getattr setattr delattr globals locals vars type object chr ord str int
  bytes bytearray memoryview list tuple dict iter repr sorted reversed map filter staticmethod classmethod print input
  breakpoint get_ipython isinstance issubclass hasattr dir help id callable zip enumerate sum min max any all next range`.split(
    /\s+/,
  ),
);

/** Modules that a program without an import may mean: in a stateful context it stood in an earlier cell. */
export const KNOWN_MODULES: ReadonlyMap<string, string> = new Map([
  ...`os sys subprocess socket shutil ctypes importlib builtins requests urllib http pickle marshal base64 codecs pathlib
  glob pty signal threading multiprocessing asyncio httpx`
    .split(/\s+/)
    .map((name) => [name, name] as const),
  ["np", "numpy"],
  ["pd", "pandas"],
  ["plt", "matplotlib.pyplot"],
  ["Path", "pathlib.Path"],
]);

/** Modules whose members must not be chosen by a name that is made while the program runs. */
export const GUARDED_MODULES: ReadonlySet<string> = new Set(
  "os posix subprocess builtins ctypes importlib pty socket marshal sys.modules ?module".split(" "),
);

/** Mappings of a program's own names. */
export const NAMESPACES = /^(?:globals|locals|vars)\(\)$/;
