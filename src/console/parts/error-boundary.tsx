/**
 * Error boundary that keeps component errors from Ink, whose own boundary would print them over the screen. React supports
 * boundaries only as classes.
 */

import { Component, type ReactNode } from "react";

interface GuardProps {
  /** Called before any output of the failed tree is written, since none of it may reach the terminal. */
  onFailing(): void;
  onFailed(error: unknown): void;
  readonly children: ReactNode;
}

export class Guard extends Component<GuardProps, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override componentDidCatch(error: unknown): void {
    this.props.onFailed(error);
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    // `componentDidCatch` is called only after the emptied tree was written.
    this.props.onFailing();
    return null;
  }
}
