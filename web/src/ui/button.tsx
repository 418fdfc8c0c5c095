import { clsx } from "clsx";
import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";

export type Tone = "plain" | "accent" | "bad" | "quiet";

const tones: Record<Tone, string> = {
  plain: "border-line-strong bg-surface text-text hover:bg-sunken",
  accent: "border-accent bg-accent text-on-accent hover:opacity-90",
  bad: "border-bad bg-surface text-bad hover:bg-bad-soft",
  quiet: "border-transparent bg-transparent text-text hover:bg-sunken",
};

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  tone?: Tone;
  icon?: ReactNode;
  busy?: boolean; // what it ordered is under way
  ref?: Ref<HTMLButtonElement>;
}

/** How a button looks. */
export function buttonClass(tone: Tone): string {
  return clsx("inline-flex min-h-8 items-center justify-center gap-1.5 rounded-md border px-2.5 py-1 font-medium whitespace-nowrap transition-colors disabled:opacity-55", tones[tone]);
}

export function Button({ tone = "plain", icon, busy = false, className, children, disabled, type = "button", ...rest }: ButtonProps) {
  return (
    <button
      type={type}
      disabled={disabled === true || busy}
      aria-busy={busy}
      className={clsx(buttonClass(tone), className)}
      {...rest}
    >
      {icon}
      {children}
    </button>
  );
}

/** A button that is only an icon: `label` is its name. */
export function IconButton({ label, children, className, ...rest }: Omit<ButtonProps, "icon"> & { label: string }) {
  return (
    <Button tone="quiet" aria-label={label} title={label} className={clsx("min-w-8 px-1.5", className)} {...rest}>
      {children}
    </Button>
  );
}
