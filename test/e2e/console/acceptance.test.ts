/**
 * Promises of the console, tested in real terminals against one gateway with objects of every kind. The parts are in
 * acceptance/, each with its own consoles; changes come after reads, and the end of the gateway comes last.
 */
import { describe } from "node:test";
import { ptySkip } from "../../console/support/terminal.ts";
import { isShort } from "../../support/random-length.ts";
import { suiteOwner } from "../admin/support/suite.ts";
import { openAcceptanceGateway } from "./acceptance/acceptance-gateway.ts";
import { bytesTests } from "./acceptance/bytes.ts";
import { leavingTests } from "./acceptance/leaving.ts";
import { readonlyTests } from "./acceptance/readonly.ts";
import { readerTests } from "./acceptance/screen-reader.ts";
import { mintingTests, secretsTests } from "./acceptance/secrets.ts";
import { statesTests } from "./acceptance/states.ts";
import { suspendTests } from "./acceptance/suspend.ts";
import { viewsGoneTests, viewsTests } from "./acceptance/views.ts";
import { waitingTests } from "./acceptance/waiting.ts";

/** Consoles that run concurrently. They mostly wait for their screens. */
const AT_ONCE = 4;

describe("console", { skip: ptySkip }, async () => {
  if (ptySkip !== false) return;
  const owner = suiteOwner();
  const running = await openAcceptanceGateway(owner);

  describe("read-only use", { concurrency: AT_ONCE }, () => {
    secretsTests(running);
    waitingTests(running, isShort);
    readonlyTests(running);
    bytesTests(running);
    viewsTests(running, isShort);
    statesTests(running, isShort);
    readerTests(running);
    leavingTests(running);
  });

  describe("changes to the gateway", () => {
    suspendTests(running);
    mintingTests(running);
  });

  describe("lost gateway", () => viewsGoneTests(running, isShort));
});
