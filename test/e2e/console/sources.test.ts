/** Sources in the console: edited in `$EDITOR`, written after a difference and `y`, and saved to a file. */
import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { ptySkip } from "../../console/support/terminal.ts";
import { startPlane } from "../admin/support/plane.ts";
import { suiteOwner } from "../admin/support/suite.ts";
import { eventually } from "../support/wait.ts";
import { openConsole, type SeenConsole, startConsoleGateway } from "./support/console-gateway.ts";
import { faultsOf } from "./support/frame.ts";

/** Keys typed while it runs belong to it: it replaces `two-` with the line that it reads from the terminal. */
const EDITOR = `#!/bin/sh
printf 'EDITING %s, %s\\r\\n' "$(basename "$1")" "$(grep -o 'two-[A-Za-z*]*' "$1")"
read -r with
[ "$with" = fail ] && exit 3
[ "$with" = "" ] || sed -i "s/two-[A-Za-z*]*/two-$with/" "$1"
`;

const document = (models: string): string =>
  JSON.stringify({
    providers: [{ name: "two", dialect: "compat", base_url: "http://127.0.0.1:9", models: [models] }],
  });

describe("sources in the console", { skip: ptySkip }, async () => {
  if (ptySkip !== false) return;
  const owner = suiteOwner();
  const { node } = await startPlane(owner);
  const socket = join(node.dir, "admin.sock");
  const running = await startConsoleGateway(owner);
  const params = { name: "default" };
  await node.client.call("put_source", { params, query: {}, body: document("two-*") });
  const editor = join(node.dir, "editor");
  await writeFile(editor, EDITOR);
  await chmod(editor, 0o700);
  const onDefault = async (console: SeenConsole): Promise<void> => {
    await console.press("7");
    await console.until(/ default +\d/);
    await console.press("j");
    await console.until(/>default/);
  };
  const stored = async (): Promise<string> => (await node.client.call("get_source", { params })).document;

  test("E shows the difference and writes on y; a refused edit can be edited again", async (t) => {
    const console = await openConsole(t, { socket, env: { EDITOR: editor, VISUAL: "" } });
    await onDefault(console);
    const edited = async (line: string, begun = "two-*"): Promise<void> => {
      await console.press("E");
      await console.until(`EDITING default.yaml, ${begun}`);
      console.type(line);
      await console.press("enter");
    };
    await edited("");
    await console.until("the text was not changed");
    await edited("fail");
    await console.until(/the editor '.*' ended with status 3/);
    // These letters would be keys of the view if the console had the terminal.
    await edited("XRq");
    await console.until("Write the edited document of default");
    await console.until(/"two-\*".* -> .*"two-XRq"/);
    await console.press("esc");
    await console.until((screen) => !screen.includes("Write the edited"));
    assert.equal(await stored(), document("two-*"));
    await edited("next", "two-XRq");
    await console.until(/two-next/);
    await console.press("y");
    await console.until(/revision 2 in force/);
    assert.equal(await stored(), document("two-next"));
    // The list shows the new revision, and undoing it is offered, a moment later.
    await console.until(/>default +2 /);
    await console.until(" u undo");
    await console.press("u");
    await console.until("Roll default back to revision 1");
    await console.until(/Last hour +no recent requests/);
    await console.press("esc");
  });

  test("an edit against a revision that someone else replaced is not written", async (t) => {
    const console = await openConsole(t, { socket, env: { EDITOR: editor, VISUAL: "" } });
    await onDefault(console);
    await console.press("E");
    await console.until("EDITING");
    await node.client.call("put_source", { params, query: {}, body: document("two-other") });
    console.type("mine");
    await console.press("enter");
    await console.until("Write the edited document");
    await console.until(/it is at revision \d+, but was at revision \d+/);
    await console.press("y", "esc");
    assert.equal(await stored(), document("two-other"));
  });

  test("w saves the document to the suggested file; the prompts name their source", async (t) => {
    const console = await openConsole(t, { socket });
    await onDefault(console);
    await console.press("w");
    await console.until("save default to file: default.yaml");
    await console.press("enter");
    await console.until(/saved default to .*default\.yaml/);
    assert.equal(await readFile(join(console.home, "default.yaml"), "utf8"), await stored());
    await console.press("n");
    await console.until("new revision of default from file:");
    await console.press("esc");
  });

  test("a write shows its effect on the last hour; the affected requests are explained, and Esc returns", async (t) => {
    const path = join(running.node.dir, "deployment.yaml");
    const before = await readFile(path, "utf8");
    const rule = `{"name":"no-sims","at":["llm"],"condition":"model == 'sim-1'","action":"deny"}`;
    await writeFile(editor, `#!/bin/sh\nsed -i -e 's/"version":42/"version":43,"access_rules":['"$RULE"']/' "$1"\n`);
    const console = await openConsole(t, { socket: running.socket, env: { EDITOR: editor, VISUAL: "", RULE: rule } });
    await console.press("7");
    await console.until(/>default/);
    await console.press("E");
    await console.until(/Write .*deployment\.yaml/);
    await console.until(/Last hour +\d+ requests: 6 would be refused by rule no-sims \(all of prod-search\)/);
    await console.until("1 line added, 1 line removed");
    assert.match(console.screen(), /Last hour[\s\S]*1 line added/);
    await console.press("enter");
    await console.until(/^┌─ Rehearsal /m);
    await console.until(/ 6 +would be refused by rule no-sims +prod-search 6/);
    await console.until(/>.*prod-search +!REFUSED +rule no-sims/);
    await console.settled();
    assert.deepEqual(faultsOf(console), [], console.screen());
    await console.press("enter");
    await console.until(/explain /);
    await console.until(/Caller +prod-search \(profile standard\)/);
    await console.until(/Answer +200/);
    await console.press("esc", "esc");
    await console.until(/Write .*deployment\.yaml/);
    await console.until(/6 would be refused/);
    await console.press("esc");
    await console.until((screen) => !screen.includes("Last hour"), "the dialog to be left");
    assert.equal(await readFile(path, "utf8"), before);
  });

  test("if a file owns the source, E edits that file and applies it", async (t) => {
    const path = join(running.node.dir, "deployment.yaml");
    await writeFile(
      editor,
      `#!/bin/sh\nsed -i -e 's/"\\{0,1\\}version"\\{0,1\\}: *42/"version": 43/' -e 's/1000/2500/' "$1"\n`,
    );
    const console = await openConsole(t, { socket: running.socket, env: { EDITOR: editor, VISUAL: "" } });
    await console.press("7");
    await console.until(/>default/);
    await console.press("E");
    await console.until(/Write .*deployment\.yaml/);
    await console.until("1 line added, 1 line removed");
    await console.press("y");
    await console.until(/is written and applied/);
    assert.match(await readFile(path, "utf8"), /2500/);
    await eventually("the new limit", async () =>
      (await running.node.client.call("list_budgets")).items.some(({ limit }) => limit === 2_500),
    );
  });
});
