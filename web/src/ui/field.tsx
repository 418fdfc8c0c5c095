import { clsx } from "clsx";
import { useId, type InputHTMLAttributes, type ReactNode, type Ref, type SelectHTMLAttributes, type TextareaHTMLAttributes } from "react";

const control = "w-full rounded-md border border-line-strong bg-surface px-2 py-1 text-text placeholder:text-muted";

interface FieldProps {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
  hidden?: boolean; // the label is for screen readers alone
  children: (ids: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ReactNode;
}

/** A control with its name, what it is for and what is wrong with it. */
export function Field({ label, hint, error, hidden = false, children }: FieldProps) {
  const id = useId();
  const about = error ?? hint;
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className={clsx("font-medium", hidden && "sr-only")}>
        {label}
      </label>
      {children({ id, ...(about === undefined ? {} : { "aria-describedby": `${id}-about` }), ...(error === undefined ? {} : { "aria-invalid": true as const }) })}
      {about !== undefined && (
        <p id={`${id}-about`} className={error === undefined ? "text-muted" : "text-bad"}>
          {about}
        </p>
      )}
    </div>
  );
}

export function Input({ className, ...rest }: InputHTMLAttributes<HTMLInputElement>) {
  return <input className={clsx(control, "min-h-8", className)} {...rest} />;
}

export function Textarea({ className, ...rest }: TextareaHTMLAttributes<HTMLTextAreaElement> & { ref?: Ref<HTMLTextAreaElement> }) {
  return <textarea className={clsx(control, "min-h-20", className)} {...rest} />;
}

interface SelectProps extends SelectHTMLAttributes<HTMLSelectElement> {
  options: readonly (string | readonly [value: string, text: string])[];
}

export function Select({ options, className, ...rest }: SelectProps) {
  return (
    <select className={clsx(control, "min-h-8", className)} {...rest}>
      {options.map((o) => {
        const [value, text] = typeof o === "string" ? [o, o] : o;
        return (
          <option key={value} value={value}>
            {text}
          </option>
        );
      })}
    </select>
  );
}
