/** A test listener that records its events and is closed at the test's end. */

import {
  type Frame,
  type InboundLink,
  type LinkListener,
  type ListenOptions,
  listenLinks,
} from "../../../../src/server/cluster/wire/index.ts";
import { atEnd, type Owner } from "../../../e2e/support/wait.ts";
import { identityOf } from "../identity/made.ts";
import { type MemoryLog, memoryLog } from "./memory-log.ts";
import { selfOf } from "./selves.ts";

interface TestListener {
  readonly listener: LinkListener;
  readonly links: readonly InboundLink[];
  readonly frames: readonly Frame[];
  readonly ends: readonly (Error | undefined)[];
  readonly log: MemoryLog;
}

export async function testListener(owner: Owner, over: Partial<ListenOptions> = {}): Promise<TestListener> {
  const identity = over.identity ?? (await identityOf("n1"));
  const links: InboundLink[] = [];
  const frames: Frame[] = [];
  const ends: (Error | undefined)[] = [];
  const log = memoryLog();
  const listener = await listenLinks({
    name: "test",
    listen: "127.0.0.1:0",
    identity,
    self: selfOf(identity),
    links: { raft: 1, snapshot: 1, forward: 2 },
    replaces: true,
    admitsCli: false,
    refusalCodeFor: () => undefined,
    onLink(link) {
      links.push(link);
      return { onFrame: (frame) => frames.push(frame), onEnd: (error) => ends.push(error) };
    },
    log,
    ...over,
  });
  atEnd(owner, () => listener.close());
  return { listener, links, frames, ends, log };
}
