import { expect, test } from "vitest";

import { changesOf, differs, faultsOf, formOf, sourceOf, type Form, type Settings } from "@/rooms/settings";

const defaults: Settings = { policy: "everybody", blind: true, turns: 3, rebuttals: 1, timeouts: { idle: 1800, parse: 1200, send: 120, hard: 0 } };
const form = formOf(defaults);

test.each<[Partial<Form>, object | undefined]>([
  [{}, undefined],
  [{ turns: " 3 ", topic: " " }, undefined],
  [{ turns: "2" }, { turns: 2 }],
  [{ topic: " Where? " }, { topic: "Where?" }],
  [{ policy: "debate", judge: "ann", rebuttals: "0" }, { policy: "debate", judge: "ann", rebuttals: 0 }],
  [{ policy: "moderator", moderator: "ann", decides: true }, { policy: "moderator", moderator: "ann", decide: "moderator" }],
  [{ blind: false, tagged: true }, { blind: false, tagged: true }],
  [{ day: "2M" }, { tokens: { round: 0, day: 2_000_000 } }],
  [{ parse: "60", stops: true }, { timeouts: { parse: 60, stops: true } }],
])("%j changes %j", (over, want) => expect(changesOf(form, { ...form, ...over })).toEqual(want));

test("a budget that is set keeps the other", () => {
  const set = formOf({ ...defaults, tokens: { round: 200_000, day: 1_500_000 } });
  expect([set.round, set.day]).toEqual(["200k", "1500k"]);
  expect(changesOf(set, { ...set, round: "" })).toEqual({ tokens: { round: 0, day: 1_500_000 } });
  expect(changesOf(set, { ...set, day: "1.5M" })).toBeUndefined();
});

test("what is typed is checked before it is sent", () => {
  expect(faultsOf(form)).toEqual({});
  expect(Object.keys(faultsOf({ ...form, turns: "0", rebuttals: "-1", idle: "1.5", parse: "", round: "many" })).sort()).toEqual(["idle", "parse", "rebuttals", "round", "turns"]);
  expect(Object.keys(faultsOf({ ...form, policy: "moderator" }))).toEqual(["moderator"]);
  expect(faultsOf({ ...form, policy: "moderator", moderator: "ann" })).toEqual({});
  expect(Object.keys(faultsOf({ ...form, decides: true }))).toEqual(["decides"]);
  expect(Object.keys(faultsOf({ ...form, policy: "debate" }))).toEqual(["judge"]);
});

test("what differs from the defaults is known", () => {
  expect(differs("turns", { ...form, turns: "2" }, form)).toBe(true);
  expect(differs("turns", { ...form, turns: "03" }, form)).toBe(true); // it is as it is typed
  expect(differs("round", { ...form, round: "0" }, form)).toBe(false);
});

test("a setting says where it is inherited from", () => {
  const all = [{ key: "tokens", value: "0", from: "room", inherited: "200k", inherited_from: "config.yml" } as const, { key: "turns", value: "3", from: "built-in", inherited: "3", inherited_from: "built-in" } as const];
  expect([sourceOf("round", all), sourceOf("turns", all), sourceOf("idle", all)]).toEqual([".cmux/config.yml", "built in", ""]);
});
