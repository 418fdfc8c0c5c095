import { Component, type ReactNode } from "react";

import { Missing } from "@/ui/lazily";
import { Failed } from "@/ui/states";
import { complain } from "@/ui/toasts";

interface BoundaryProps {
  children: ReactNode;
  instead?: ReactNode; // shown instead if the page can do without the part; the error is reported
  onFault?: () => void;
}

/** Keeps a fault of one part from taking the others with it. */
export class Boundary extends Component<BoundaryProps, { error: unknown }> {
  override state: { error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidCatch(error: unknown) {
    this.props.onFault?.();
    if (this.props.instead !== undefined) {
      complain(error);
    }
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) {
      return this.props.children;
    }
    if (this.props.instead !== undefined) {
      return this.props.instead;
    }
    return <Failed error={error} retry={() => (error instanceof Missing ? window.location.reload() : this.setState({ error: undefined }))} />;
  }
}
