/** Acceptance item 6: in read-only mode no key in any view sends a request that could change the gateway. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ConsoleGateway, KEYS, openConsole, PROVIDERS } from "../support/console-gateway.ts";
import { openEndpoint } from "../support/endpoint.ts";
import { goTo, VIEWS_UNDER_TEST } from "../support/views.ts";

const LETTERS = [..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"];
/** All letters except the one that quits the console and the one that opens an editor. */
const PRESSED = LETTERS.filter((letter) => letter !== "q" && letter !== "o");

export function readonlyTests({ node, socket }: ConsoleGateway): void {
  test("read-only mode sends only reads, whatever is pressed", async (t) => {
    const before = {
      suspensions: (await node.client.call("list_suspensions")).items.map(({ name }) => name),
      keys: (await node.client.call("list_keys")).items.map(({ id }) => id),
      sources: (await node.client.call("list_sources")).items.map(({ revision }) => revision),
    };
    const endpoint = await openEndpoint(t, socket);
    const console = await openConsole(t, { socket: endpoint.socket, args: ["-readonly"] });
    await console.until("READ-ONLY");
    for (const view of VIEWS_UNDER_TEST) {
      await goTo(console, view);
      await console.settled();
      const isWorkbench = view.id === "query";
      for (const letter of PRESSED) {
        // A letter may have opened a dialog or a prompt: it is confirmed, if possible, and then left.
        if (isWorkbench) await console.press("esc");
        // `K` changes nothing at a gateway, and is confirmed after Enter.
        const pressed = letter === "K" && !isWorkbench ? "K\ry" : `${letter}y\r`;
        console.type(isWorkbench ? pressed : `${pressed}:${view.command}\r`);
      }
      await console.settled();
      if (isWorkbench) continue;
      await console.until(new RegExp(`^┌─ ${view.title} `, "m"));
      // This key opens the workbench, whose editor takes letters.
      await console.press("o");
      await console.settled();
    }
    const sent = new Set(
      endpoint.requests.map(({ method, path }) => (method === "GET" ? method : `${method} ${path}`)),
    );
    assert.ok(sent.delete("POST /admin/v1/query"), "the rows of a view were opened as a query");
    assert.deepEqual([...sent], ["GET"]);
    assert.deepEqual(
      (await node.client.call("list_suspensions")).items.map(({ name }) => name),
      before.suspensions,
    );
    const { items } = await node.client.call("list_keys");
    assert.deepEqual(
      items.map(({ id }) => id),
      before.keys,
    );
    assert.equal(items.length, Object.keys(KEYS).length);
    const { items: sources } = await node.client.call("list_sources");
    assert.deepEqual(
      sources.map(({ revision }) => revision),
      before.sources,
    );
    await console.command("providers");
    await console.until(PROVIDERS.failing);
    await console.press("s");
    await console.until("read-only: s is not available");
    await console.press("q");
    // The console asks about a statement typed into the workbench that was not run.
    const isAsked = await Promise.race([
      console.ended.then(() => false),
      console.until("the statement is not saved; leave?").then(
        () => true,
        () => false,
      ),
    ]);
    if (isAsked) console.type("yes\r");
    assert.deepEqual(await console.ended, { status: 0, signal: null });
  });
}
