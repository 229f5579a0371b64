import { NativeSelect, NumberInput } from "@mantine/core";
import { type ReactNode, useState } from "react";

const units = [
  { seconds: 1, word: "s" },
  { seconds: 60, word: "min" },
  { seconds: 3600, word: "h" },
  { seconds: 86_400, word: "d" },
] as const;

/** The largest unit in which a span is a whole number. */
export const unitOf = (seconds: number | ""): number =>
  seconds === "" || seconds === 0 ? 60 : (units.findLast((unit) => seconds % unit.seconds === 0)?.seconds ?? 1);

/** A span of time as a number and a unit; the value is in seconds. */
export function SpanInput({
  label,
  description,
  placeholder,
  value,
  onChange,
  error,
}: {
  label: string;
  description?: string;
  placeholder?: string;
  value: number | "";
  onChange: (seconds: number | "") => void;
  error?: ReactNode;
}) {
  const [unit, setUnit] = useState(() => unitOf(value));
  return (
    <NumberInput
      label={label}
      description={description}
      placeholder={placeholder}
      min={0}
      decimalScale={2}
      value={value === "" ? "" : value / unit}
      onChange={(number) => onChange(typeof number === "number" ? Math.round(number * unit) : "")}
      error={error}
      hideControls
      rightSectionWidth={76}
      rightSection={
        <NativeSelect
          aria-label={`Unit of ${label}`}
          className="unit"
          rightSectionWidth={26}
          data={units.map((one) => ({ value: String(one.seconds), label: one.word }))}
          value={String(unit)}
          onChange={(event) => {
            const next = Number(event.currentTarget.value);
            setUnit(next);
            if (value !== "") onChange(Math.round((value / unit) * next));
          }}
        />
      }
    />
  );
}
