/**
 * Records the corpus of client requests: each library's program runs with a recorder and a simulated provider, or any
 * address, and its requests are written to `test/data/clients/`.
 *
 * node --import tsx test/clients/record.ts -js DIR -py DIR[,DIR…] [-only NAME[,NAME…]] [-target URL] [-model NAME]
 * [-write]
 *
 * DIR contains `node_modules`, or is a virtual environment; a library found in none is skipped with a message. Without
 * `-write` it only prints the outcome of each case, which shows whether the libraries work on the target.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request as dial, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { startSimulator } from "../../src/simulator/index.ts";
import type { Corpus, RecordedRequest } from "./corpus.ts";
import { CORPUS } from "./corpus.ts";
import { LIBRARIES, type Library } from "./libraries.ts";
import { scrubbed } from "./scrub.ts";

const PROGRAMS = new URL("./programs/", import.meta.url).pathname;

/** Python libraries take long to load on a busy machine. */
const PROGRAM_LIMIT_MS = 300_000;

/** Headers that a dialect or a gateway may use; the others identify the sender and the time. */
const KEPT_HEADERS = /^(?:anthropic-|openai-|accept$|x-stainless-helper)/;

interface Installed {
  readonly version: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

function javascriptIn(dirs: readonly string[], { package: name, program }: Library): Installed | undefined {
  for (const dir of dirs) {
    const manifest = join(dir, "node_modules", name, "package.json");
    if (!existsSync(manifest)) continue;
    const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string };
    for (const file of ["cases.mjs", program]) cpSync(join(PROGRAMS, file), join(dir, file));
    return { version, command: process.execPath, args: [program], cwd: dir };
  }
  return undefined;
}

/** The program runs under another name, since its own is the library's. */
function pythonIn(dirs: readonly string[], { package: name, program }: Library): Installed | undefined {
  const info = new RegExp(`^${name.replaceAll(/[-_.]/g, "[-_.]")}-(.+)\\.dist-info$`, "i");
  for (const dir of dirs) {
    const lib = join(dir, "lib");
    const [python] = existsSync(lib) ? readdirSync(lib).filter((entry) => entry.startsWith("python")) : [];
    if (python === undefined) continue;
    const versions = readdirSync(join(lib, python, "site-packages")).flatMap((entry) => info.exec(entry)?.[1] ?? []);
    if (versions[0] === undefined) continue;
    const cwd = join(dir, "programs");
    mkdirSync(cwd, { recursive: true });
    cpSync(join(PROGRAMS, "cases.py"), join(cwd, "cases.py"));
    cpSync(join(PROGRAMS, program), join(cwd, "main.py"));
    return { version: versions[0], command: join(dir, "bin", "python"), args: ["main.py"], cwd };
  }
  return undefined;
}

interface Recorder {
  readonly url: string;
  take(): ReadonlyMap<string, readonly RecordedRequest[]>;
}

/** Forwards everything to `target`, without the case's name at the head of the path. */
async function startRecorder(target: string): Promise<Recorder> {
  let cases = new Map<string, RecordedRequest[]>();
  const server = createServer((request, response) => {
    const [, name = "", rest = ""] = /^\/([^/?]+)(.*)$/.exec(request.url ?? "") ?? [];
    pass(request, response, new URL(rest, target)).then(
      (body) => {
        const recorded = cases.get(name) ?? [];
        recorded.push(recordOf(request, rest, body));
        cases.set(name, recorded);
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    take() {
      const taken = cases;
      cases = new Map();
      return taken;
    },
  };
}

async function pass(request: IncomingMessage, response: ServerResponse, to: URL): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const headers = { ...request.headers, host: to.host };
  const upstream = dial(to, { method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.pipe(response);
  });
  upstream.on("error", () => response.destroy());
  upstream.end(body);
  return body.toString("utf8");
}

function recordOf(request: IncomingMessage, path: string, body: string): RecordedRequest {
  const headers = Object.entries(request.headers)
    .filter(([name]) => KEPT_HEADERS.test(name))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return {
    method: request.method ?? "",
    path,
    headers: Object.fromEntries(headers.map(([name, value]) => [name, String(value)])),
    body: body === "" ? null : scrubbed(JSON.parse(body)),
  };
}

interface Ran {
  readonly lines: readonly string[];
  readonly stderr: string;
}

async function runProgram(installed: Installed, library: Library, root: string, model: string): Promise<Ran> {
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: process.env["HOME"] ?? "",
    ROOT: root,
    MODEL: model,
    KNOWN_MODEL: process.env["KNOWN_MODEL"],
    OPENAI_API_KEY: "test-key",
    ANTHROPIC_API_KEY: "test-key",
    KEY: process.env["KEY"] ?? "test-key",
    ...(library.kind !== undefined && { KIND: library.kind }),
  };
  const child: ChildProcess = spawn(installed.command, installed.args, {
    cwd: installed.cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), PROGRAM_LIMIT_MS);
  const [stdout, stderr] = ["", ""].map(() => [] as string[]) as [string[], string[]];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => stdout.push(text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => stderr.push(text));
  await new Promise((done) => child.once("close", done));
  clearTimeout(timer);
  const lines = stdout.join("").split("\n");
  return { lines: lines.filter((line) => /^(?:ok|failed) /.test(line)), stderr: stderr.join("") };
}

const { values } = parseArgs({
  args: process.argv.slice(2).map((arg) => (/^-[a-z]/.test(arg) ? `-${arg}` : arg)),
  options: {
    js: { type: "string", default: "" },
    py: { type: "string", default: "" },
    only: { type: "string" },
    target: { type: "string" },
    model: { type: "string", default: "sim-small" },
    write: { type: "boolean", default: false },
  },
});
const dirsOf = (text: string): readonly string[] =>
  text
    .split(",")
    .filter((dir) => dir !== "")
    .map((dir) => resolve(dir));
const [js, py] = [dirsOf(values.js), dirsOf(values.py)];
const only = values.only?.split(",");

let failures = 0;
for (const library of LIBRARIES) {
  if (only !== undefined && !only.includes(library.name)) continue;
  const installed = library.language === "javascript" ? javascriptIn(js, library) : pythonIn(py, library);
  if (installed === undefined) {
    console.log(`${library.name}: not installed, left out`);
    continue;
  }
  // One per library, since its ids are request numbers.
  const simulator = values.target === undefined ? await startSimulator({ host: "127.0.0.1", port: 0 }) : undefined;
  const recorder = await startRecorder(values.target ?? simulator?.url ?? "");
  const { lines, stderr } = await runProgram(installed, library, recorder.url, values.model);
  await simulator?.close();
  console.log(`${library.name} ${installed.version}`);
  for (const line of lines) console.log(`  ${line}`);
  const failed = lines.filter((line) => line.startsWith("failed "));
  failures += failed.length + (lines.length === 0 ? 1 : 0);
  if (lines.length === 0) console.log(stderr.split("\n").slice(-12).join("\n"));
  if (!values.write || lines.length === 0) continue;
  const corpus: Corpus = {
    library: library.name,
    package: library.package,
    version: installed.version,
    language: library.language,
    cases: Object.fromEntries(recorder.take()),
  };
  mkdirSync(CORPUS, { recursive: true });
  writeFileSync(join(CORPUS, `${library.name}.json`), `${JSON.stringify(corpus, undefined, 1)}\n`);
}
process.exit(failures === 0 ? 0 : 1);
