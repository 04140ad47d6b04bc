// tier: all
/**
 * The tutorials, as a reader follows them: their files are written, the commands of their shell blocks are run in order by one
 * bash against the built program, and each block of output is compared with what was printed. Only ports and what differs from
 * run to run (ids, times, measurements) are replaced. The last section of the first tutorial calls a real provider and is left out.
 */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { freePort } from "../e2e/support/ports.ts";
import { countStart } from "../support/count-start.ts";
import { type Block, partsOf } from "./markdown-parts.ts";
import { faultOf } from "./printed-output.ts";
import { type ShellSession, startShell } from "./shell-session.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Prefixes of the ports in the pages: 8484 is the fourth of the first ten. */
const PAGE_PORTS = ["848", "946", "700", "710"];

/** Returns prefixes of ten free ports each, one for each of `PAGE_PORTS`. */
async function freePrefixes(): Promise<readonly string[]> {
  const prefixes: string[] = [];
  let inRow: number[] = [];
  while (prefixes.length < PAGE_PORTS.length) {
    const port = await freePort();
    if (inRow.at(-1) !== port - 1 || port % 10 === 0) inRow = [];
    inRow.push(port);
    if (inRow.length === 9 && port % 10 === 9) prefixes.push(`${(port - 9) / 10}`);
  }
  return prefixes;
}

const prefixes = await freePrefixes();

/** Replaces the ports of the pages, also in a loop (`848$i`). */
const withFreePorts = (text: string): string =>
  PAGE_PORTS.reduce(
    (it, port, at) => it.replaceAll(new RegExp(`(?<=:)${port}(?=[1-5$]\\b|\\$i)`, "g"), prefixes[at] ?? ""),
    text,
  );

const withPagePorts = (text: string): string =>
  PAGE_PORTS.reduce((it, port, at) => it.replaceAll(new RegExp(`(?<=:)${prefixes[at]}(?=[1-5]\\b)`, "g"), port), text);

/** Returns a block as it is run: on free ports, with an answer to each question, and with the id that was printed last. */
function commandsOf(block: string, lastId: string | undefined): string {
  const commands = withFreePorts(block)
    .replace(
      /^npm start$/m,
      `gateway dev -listen 127.0.0.1:${prefixes[0]}4 -metrics-listen 127.0.0.1:${prefixes[1]}4 > dev.log &`,
    )
    .replace(/^gateway simulate/gm, `gateway simulate -listen 127.0.0.1:${prefixes[0]}5`)
    .replace(/^(gateway suspend .*)$/gm, "$1 -yes");
  return commands.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (id) => lastId ?? id);
}

/** Blocks of a page, up to a heading if one is given. */
async function blocksOf(page: string, until?: string): Promise<readonly Block[]> {
  const text = await readFile(join(ROOT, "docs/tutorial", page), "utf8");
  return partsOf(until === undefined ? text : text.slice(0, text.indexOf(until))).blocks;
}

/** Block of commands that only show something, and so may be repeated. */
const ONLY_READS = /^(gateway (status|get|explain)\b[^\n]*\n?)+$/;
const CATCH_UP_MS = 15_000;
const CATCH_UP_PAUSE_MS = 250;

async function follow(page: string, shell: ShellSession, folder: string, blocks: readonly Block[]): Promise<void> {
  let lastId: string | undefined;
  for (const [at, block] of blocks.entries()) {
    if (block.language === "yaml") {
      const name = /^# (\S+\.yaml)\n/.exec(block.text)?.[1] ?? "node.yaml";
      await writeFile(join(folder, name), withFreePorts(block.text));
    }
    if (block.language !== "sh") continue;
    const next = blocks.findIndex(({ language }, index) => index > at && language !== "");
    const shown = blocks.slice(at + 1, next === -1 ? undefined : next);
    const run = async () => withPagePorts(await shell.run(commandsOf(block.text, lastId)));
    let printed = await run();
    // A node gathers what it shows from its worker processes and from other nodes, so it may be a moment old.
    const deadline = performance.now() + (ONLY_READS.test(block.text) ? CATCH_UP_MS : 0);
    while (shown.some(({ text }) => faultOf(text, printed) !== undefined) && performance.now() < deadline) {
      await setTimeout(CATCH_UP_PAUSE_MS);
      printed = await run();
    }
    lastId = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(printed)?.[0] ?? lastId;
    if (process.env["GATEWAY_SHOW_TUTORIALS"] !== undefined) console.log(`\n$ ${block.text}\n${printed}`);
    for (const { text, line } of shown) {
      const fault = faultOf(text, printed);
      assert.equal(fault, undefined, `docs/tutorial/${page}:${line}: ${fault}\n\nprinted:\n${printed}`);
    }
  }
}

async function session(): Promise<{ readonly folder: string; readonly shell: ShellSession }> {
  countStart();
  const folder = await mkdtemp(join(tmpdir(), "gateway-tutorial-"));
  const shell = startShell(folder, {
    PATH: `${join(ROOT, "bin")}:${process.env["PATH"]}`,
    HOME: folder,
    LANG: "C.UTF-8",
  });
  after(async () => {
    await shell.close();
    await rm(folder, { recursive: true, force: true });
  });
  // Without a terminal curl would draw its progress.
  await shell.run('curl() { command curl -sS "$@"; }');
  return { folder, shell };
}

const WAIT_FOR_DEV = 'until grep -q ^ready dev.log; do sleep 0.2; done; eval "$(grep ^export dev.log)"';

describe("the tutorials, followed to the letter", () => {
  test("first-gateway.md and first-incident.md", async () => {
    const { folder, shell } = await session();
    const [start, welcome, paste, ...rest] = await blocksOf("first-gateway.md", "\n## A real provider");
    assert.match(start?.text ?? "", /^npm start$/);
    await shell.run(commandsOf(start?.text ?? "", undefined));
    await shell.run(WAIT_FOR_DEV);
    const log = withPagePorts(await readFile(join(folder, "dev.log"), "utf8"));
    assert.equal(faultOf(welcome?.text ?? "", log), undefined, log);
    assert.deepEqual(
      paste?.text.split("\n").map((line) => line.replace(/=.*/, "")),
      ["alias gateway", "export GATEWAY_ADMIN_SOCKET", "export KEY"],
    );
    await follow("first-gateway.md", shell, folder, rest);
    await follow("first-incident.md", shell, folder, await blocksOf("first-incident.md"));
    await shell.run("kill %1; wait");
  });

  test("first-policy.md", async () => {
    const { folder, shell } = await session();
    await follow("first-policy.md", shell, folder, await blocksOf("first-policy.md"));
    await shell.run("kill %2 %1; wait");
  });

  test("first-cluster.md", async () => {
    const { folder, shell } = await session();
    await follow("first-cluster.md", shell, folder, await blocksOf("first-cluster.md"));
    await shell.run("kill $(cat pid-*) %1; wait");
  });
});
