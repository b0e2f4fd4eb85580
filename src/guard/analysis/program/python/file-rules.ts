import { type KnownFunction, known, SELF, words } from "../known-functions.js";

/** What a Python program does to files. */
export const PYTHON_FILE_RULES: readonly KnownFunction[] = [
  {
    rule: "file",
    level: "low",
    names: words(`
      tarfile.TarInfo zipfile.ZipInfo tarfile.open().extractall tarfile.TarFile.open().extractall zipfile.ZipFile().extractall
    `),
    paths: [[[0, "path"], "write"]],
    called: true,
    why: "Unpacks files.",
  },
  {
    rule: "file",
    level: "low",
    names: words("tarfile.open().add zipfile.ZipFile().write"),
    paths: [
      [0, "read"],
      [[1, "arcname"], "write"],
    ],
    called: true,
    why: "Packs files.",
  },
  known(
    "low",
    "file",
    "Writes a file that comes over the network.",
    words("urllib.request.urlretrieve wget.download"),
    { paths: [[[1, "filename"], "write"]], sends: true, called: true },
  ),
  {
    rule: "file",
    level: "low",
    names: words(`
      builtins.open io.open io.FileIO os.open codecs.open _io.open gzip.open bz2.open lzma.open posix.open
      builtins.file aiofiles.open fileinput.input linecache.getlines linecache.getline zipfile.ZipFile
      tarfile.open sqlite3.connect shelve.open dbm.open h5py.File PIL.Image.open numpy.memmap
    `),
    paths: [[[0, "file"], "read"]],
    mode: [1, "mode"],
    why: "Opens a file.",
  },
  known("low", "file", "Opens a file.", ["pathlib.Path().open"], {
    paths: [[SELF, "read"]],
    mode: [0, "mode"],
  }),
  {
    rule: "file",
    level: "low",
    names: words(`
      pathlib.Path().read_text pathlib.Path().read_bytes pathlib.Path().iterdir pathlib.Path().glob
      pathlib.Path().rglob pathlib.Path().walk
    `),
    paths: [[SELF, "read"]],
    why: "Reads files.",
  },
  {
    rule: "file",
    level: "low",
    names: words(`
      pathlib.Path().write_text pathlib.Path().write_bytes pathlib.Path().touch pathlib.Path().mkdir
    `),
    paths: [[SELF, "write"]],
    why: "Writes files.",
  },
  {
    rule: "file",
    level: "low",
    names: words(`
      pathlib.Path().rename pathlib.Path().replace pathlib.Path().symlink_to pathlib.Path().hardlink_to
    `),
    paths: [
      [SELF, "write"],
      [0, "write"],
    ],
    why: "Changes files.",
  },
  known("low", "file-delete", "Deletes files.", ["pathlib.Path().unlink", "pathlib.Path().rmdir"], {
    paths: [[SELF, "remove"]],
  }),
  {
    rule: "file-delete",
    level: "low",
    names: words(`
      os.remove os.unlink os.rmdir os.removedirs shutil.rmtree os.truncate posix.unlink posix.remove
      send2trash.send2trash
    `),
    paths: [[[0, "path"], "remove"]],
    why: "Deletes files.",
  },
  known("low", "file", "Makes files.", words("os.mkdir os.makedirs os.mkfifo os.utime"), {
    paths: [[[0, "name"], "write"]],
  }),
  {
    rule: "file",
    level: "low",
    names: words(`
      os.listdir os.scandir os.walk glob.glob glob.iglob numpy.loadtxt numpy.genfromtxt numpy.load
      numpy.fromfile json.load torch.load joblib.load os.readlink shutil.disk_usage
      configparser.ConfigParser().read dotenv.load_dotenv dotenv.dotenv_values
    `),
    paths: [[0, "read"]],
    called: true,
    why: "Reads files.",
  },
  {
    rule: "file",
    level: "low",
    names: words(`
      shutil.copy shutil.copy2 shutil.copyfile shutil.copytree os.link os.symlink shutil.unpack_archive
      os.sendfile
    `),
    paths: [
      [0, "read"],
      [1, "write"],
    ],
    why: "Copies files.",
  },
  {
    rule: "file",
    level: "low",
    names: words("shutil.move os.rename os.replace os.renames"),
    paths: [
      [0, "remove"],
      [1, "write"],
    ],
    why: "Moves files.",
  },
  { rule: "file", level: "low", names: ["shutil.make_archive"], paths: [[2, "read"]], why: "Packs files." },
  {
    rule: "file",
    level: "low",
    names: words(`
      pandas.read_csv pandas.read_json pandas.read_excel pandas.read_parquet pandas.read_table
      pandas.read_sql pandas.read_html pandas.read_xml pandas.read_feather pandas.read_fwf polars.read_csv
      polars.read_parquet polars.read_json cv2.imread imageio.imread
    `),
    paths: [[0, "read"]],
    sends: true,
    called: true,
    why: "Reads a file or an address.",
  },
  {
    rule: "file",
    level: "low",
    names: words(`
      *.to_csv *.to_json *.to_excel *.to_parquet *.to_pickle *.to_hdf *.to_feather *.savefig
      matplotlib.pyplot.savefig numpy.save numpy.savez numpy.savetxt numpy.savez_compressed cv2.imwrite
      *.to_html *.write_html *.write_image
    `),
    paths: [[0, "write"]],
    called: true,
    why: "Writes a file.",
  },
  known("low", "file", "Writes a file.", ["torch.save", "joblib.dump"], {
    paths: [[1, "write"]],
    called: true,
  }),
];
