/** A person with their own machine: a state directory, a browser that signs in automatically, and the verbs. */
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Home, makeHome } from "../../../cli/sign-in/temporary-home.ts";
import { type End, type Program, runProgram } from "../../support/gateway.ts";
import type { OidcServer } from "../../support/oidc.ts";
import { eventually, type Owner } from "../../support/wait.ts";

interface Ran extends End {
  readonly stdout: string;
  readonly stderr: string;
}

export interface Person {
  readonly home: Home;
  /** Runs `gateway …args` to its end. */
  run(...args: readonly string[]): Promise<Ran>;
  /** Runs `gateway login` with a browser in which alice signs in. */
  login(url: string): Promise<Ran>;
  /** Runs `gateway login -device` while a user enters the code in a browser. */
  loginByDevice(provider: OidcServer, login: string, url: string): Promise<Ran>;
}

const BROWSER = fileURLToPath(new URL("../../../cli/sign-in/headless-browser.ts", import.meta.url));

export async function createPerson(owner: Owner): Promise<Person> {
  const home = makeHome(owner);
  const browser = join(home.env["XDG_STATE_HOME"] ?? "", "browser");
  await writeFile(browser, `#!/bin/sh\nexec "${process.execPath}" --import tsx "${BROWSER}" "$@"\n`);
  await chmod(browser, 0o700);
  const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Program =>
    runProgram(owner, { args, env: { ...home.env, ...env } });
  return {
    home,
    run: (...args) => ranOf(start(args)),
    login: (url) => ranOf(start(["login", url], { BROWSER: browser })),
    async loginByDevice(provider, login, url) {
      const program = start(["login", "-device", url]);
      const promptMatch = (pattern: RegExp) =>
        eventually("the words of login", () => {
          const found = pattern.exec(program.stderr())?.[1];
          return found;
        });
      const address = await promptMatch(/^ {2}(https?:\/\/\S+)$/m);
      const userCode = await promptMatch(/^ {2}([A-Z]{4}-[A-Z]{4})$/m);
      await provider.browse(address, { login, userCode });
      return ranOf(program);
    },
  };
}

async function ranOf(program: Program): Promise<Ran> {
  const end = await program.ended;
  return { ...end, stdout: program.stdout(), stderr: program.stderr() };
}
