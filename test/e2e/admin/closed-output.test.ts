/** Verbs in pipelines of a real shell: the reader of the output ends first, or the output cannot be written. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { before, describe, test } from "node:test";
import { programFile } from "../support/gateway.ts";
import { within } from "../support/wait.ts";
import { type Plane, startPlane } from "./support/plane.ts";
import { suiteOwner } from "./support/suite.ts";

const isPossible = process.platform === "linux" && existsSync("/bin/bash");

interface Ran {
  /** Status of the verb, which comes first in the pipeline. */
  readonly status: number | null;
  readonly err: string;
}

describe("output that nobody reads", { skip: !isPossible && "needs bash and /proc" }, () => {
  const owner = suiteOwner();
  let plane: Plane;
  before(async () => {
    plane = await startPlane(owner);
  });

  /** Runs a script in which `gateway` is the program. */
  const run = async (script: string): Promise<Ran> => {
    const shell = spawn("/bin/bash", ["-c", `gateway() { "$NODE" "$PROGRAM" "$@"; }; ${script}`], {
      cwd: plane.node.dir,
      env: {
        PATH: process.env["PATH"],
        NODE: process.execPath,
        PROGRAM: programFile(),
        GATEWAY_ADMIN_SOCKET: "admin.sock",
      },
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    });
    let err = "";
    shell.stderr.setEncoding("utf8").on("data", (text) => {
      err += text;
    });
    try {
      const [status] = await within(`the end of ${script}`, once(shell, "close"), 20_000);
      return { status, err };
    } finally {
      // Ends what a shell that did not end has started.
      if (shell.exitCode === null && shell.pid !== undefined) process.kill(-shell.pid, "SIGKILL");
    }
  };
  const first = `exit "\${PIPESTATUS[0]}"`;

  for (const verb of ["status -watch", "status -watch -o json", "get members -watch", "get members -watch -o json"]) {
    test(`${verb} ends when its reader has ended, without a change and without an error`, async () => {
      assert.deepEqual(await run(`gateway ${verb} | head -c 1; ${first}`), { status: 141, err: "" });
    });
  }

  test("a blocking read of `admin` and a watch without a row end with their reader too", async () => {
    const { index } = await plane.node.client.call("list_suspensions");
    const blocking = `/admin/v1/suspensions?index=${index}&wait=60s`;
    assert.deepEqual(await run(`gateway admin '${blocking}' | true; ${first}`), { status: 141, err: "" });
    const { status, err } = await run(`gateway get suspensions -watch | true; ${first}`);
    assert.deepEqual([status, err], [141, "No rows in suspensions.\n"]);
  });

  // The reader has closed the pipe before the verb begins.
  const closedFirst = (verb: string) =>
    `mkfifo go; { read -r _ < go; gateway ${verb}; } | { exec 0<&-; echo > go; }; s=\${PIPESTATUS[0]}; rm go; exit $s`;

  test("every verb ends with the status of SIGPIPE when its reader has ended, whatever it would have answered", async () => {
    const verbs = [
      "status",
      "get members",
      "get members -o json",
      "get",
      "admin /admin/v1/suspensions",
      "query 'select * from cluster_members'",
      "config show base",
      "snapshot save -stale -",
      "completion bash",
      "help",
      "help get",
      "schema node",
      "version",
      "guardrails list",
      "pack list",
      "check -offline -config node.yaml",
    ];
    for (const verb of verbs) {
      const { status, err } = await run(closedFirst(verb));
      assert.deepEqual([verb, status, err], [verb, 141, ""]);
    }
  });

  test("an output that cannot be written is an error that names the verb", async () => {
    for (const verb of ["status", "get members", "completion bash", "help get", "snapshot save -stale -"]) {
      const { status, err } = await run(`gateway ${verb} > /dev/full`);
      assert.equal(status, 1, verb);
      const name = verb.replace(/^(snapshot save|\w+).*/, "$1");
      assert.match(
        err,
        new RegExp(`^gateway ${name}: stdout cannot be written: ENOSPC: no space left on device`),
        verb,
      );
    }
  });
});
