/**
 * Console for a screen reader: text from top to bottom with roles and states, which Ink expresses in words. There are no
 * columns, and unchanged text is not repeated.
 */

import { Box, Text } from "ink";
import { createElement, type ReactElement, useSyncExternalStore } from "react";
import type { ReaderNode, ReaderTree } from "../draw/screen-reader-node.ts";

interface ReaderSource {
  subscribe(listener: () => void): () => void;
  /** Returns the same object until listeners are notified. */
  current(): { readonly readerTree: ReaderTree };
}

export function LinearScreen({ source }: { readonly source: ReaderSource }) {
  const { readerTree } = useSyncExternalStore(source.subscribe, source.current);
  return createElement(Box, { flexDirection: "column" }, ...readerTree.map(Node));
}

/** Draws a node. Children are identified by position and not by keys: the third spoken part is the third child. */
function Node({ role, text, state, children = [] }: ReaderNode): ReactElement {
  const content = text === "" ? null : <Text>{text}</Text>;
  const aria = {
    ...(role !== undefined && { "aria-role": role }),
    ...(state !== undefined && { "aria-state": state }),
  };
  return createElement(Box, { flexDirection: "column", ...aria }, content, ...children.map(Node));
}
