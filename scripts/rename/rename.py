#!/usr/bin/env python3
"""Renames files and identifiers as a list of rules says, one module (a file of rules) per call.

  scripts/rename/rename.py scripts/rename/agent.txt

Rules, one a line; "#" begins a comment:

  file OLD NEW           moves OLD.c and OLD.h; include lines and guards follow
  move OLD NEW           moves any other path
  prefix OLD NEW FILE    what FILE.c or FILE.h defines under this name or OLD_..., and OLD_... in capitals
  id OLD NEW FILE        one function, macro or enumerator that FILE.h (or FILE.c) defines
  tag OLD NEW FILE [GLOBS]   a struct, union or enum that FILE defines; FILE.c: there alone; GLOBS: there alone
  static OLD NEW FILE    a function, macro or enumerator of one FILE (with its ending)
  call OLD NEW FILE      the same where "(" follows: locals or members have that name, too
  word OLD NEW GLOBS     every identifier OLD: members, locals
  text GLOBS | OLD | NEW    text, for comments and documents; \\b and | as in Python's re

An identifier is renamed where FILE is included, however indirectly, and never within a string; in
a comment only when it cannot be an English word (it has an underscore, or "struct" precedes it).
The mutants of tests/sim are renamed as the file is that has the function they change.
"""
import collections
import fnmatch
import os
import re
import subprocess
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tests/sim"))
import mutate

TOKEN = re.compile(r'^#include[^\n]*|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*|[^A-Za-z_"\'/#]+|.', re.S | re.M)
WORD = re.compile(r'[A-Za-z_]\w*')
MUTANTS = 'tests/sim/mutants.txt'


def sh(*args, **kw):
    return subprocess.run(args, check=True, text=True, stdout=subprocess.PIPE, **kw).stdout


class Tree:
    """The files of the repository and what includes what."""

    def __init__(self):
        self.text = {}
        for path in sh('git', 'ls-files').split('\n'):
            if not path or path.startswith(('scripts/rename/', 'tests/vectors/', 'tests/fuzz/corpus')) or os.path.islink(path):
                continue
            try:
                self.text[path] = open(path, encoding='utf-8').read()
            except (UnicodeDecodeError, IsADirectoryError, FileNotFoundError):
                continue
        self.code = [p for p in self.text if p.endswith(('.c', '.h'))]
        self.users = collections.defaultdict(set)
        for path in self.code:
            for name in re.findall(r'#include "([^"]+)"', self.text[path]):
                for place in (name, 'include/' + name, os.path.join(os.path.dirname(path), name)):
                    if place in self.text:
                        self.users[place].add(path)

    def closure(self, path):
        seen, todo = set(), [path]
        while todo:
            p = todo.pop()
            if p not in seen:
                seen.add(p)
                todo += self.users[p]
        return seen

    def halves(self, stem):
        """A module's files: X.c and X.h, the header perhaps in include/paceline."""
        both = [stem + '.h', stem + '.c', 'include/paceline/%s.h' % os.path.basename(stem)]
        if stem in self.text:
            return [stem]
        found = [p for p in both if p in self.text]
        return found or sys.exit(f'no such module: {stem}')


def defined(path):
    """(name, kind, whether others see it) of what a file defines."""
    out = sh('ctags', '--languages=C', '--langmap=C:.c.h', '--kinds-C=fpdegstuv', '--fields=k', '-f', '-',
             '--sort=no', path)
    for line in out.splitlines():
        part = line.split('\t')
        kind, static = part[3], 'file:' in part
        yield part[0], kind, path.endswith('.h') or not static


class Rules:
    def __init__(self, tree, path):
        self.tree = tree
        self.id = collections.defaultdict(dict)
        self.tag = collections.defaultdict(dict)
        self.word = collections.defaultdict(dict)
        self.call = collections.defaultdict(dict)
        self.files, self.moves, self.texts = {}, {}, []
        self.said = collections.defaultdict(dict)  # for comments and documents
        for n, line in enumerate(open(path, encoding='utf-8'), 1):
            line = line.split(' #')[0].rstrip('\n')
            if not line.strip() or line.startswith('#'):
                continue
            kind, rest = line.split(None, 1)
            if kind == 'text':
                globs, old, new = [s.strip() for s in rest.split(' | ')]
                self.texts.append((globs.split(','), old, new, f'{path}:{n}'))
                continue
            getattr(self, 'rule_' + kind)(*rest.split())

    def matching(self, globs):
        return [p for p in self.tree.text if any(fnmatch.fnmatch(p, g) for g in globs.split(','))]

    def rule_file(self, old, new):
        found = 0
        for end in ('.c', '.h'):
            if old + end in self.tree.text:
                self.files[old + end] = new + end
                found += 1
        if not found:
            sys.exit(f'no such file: {old}')

    def rule_move(self, old, new):
        if old not in self.tree.text:
            sys.exit(f'no such file: {old}')
        self.moves[old] = new

    def seen_from(self, file):
        places = set()
        for p in self.tree.halves(file):
            places |= self.tree.closure(p)
        return places

    def rule_id(self, old, new, file):
        for p in self.seen_from(file):
            self.id[p][old] = new
        if '_' in old:
            for p in self.tree.text:
                if p in self.seen_from(file) or p.split('/')[0] == file.split('/')[0] or p.endswith('.md'):
                    self.said[p][old] = new

    def rule_tag(self, old, new, file, globs=None):
        if globs:
            places = set(self.matching(globs))
        elif file.endswith('.c'):
            places = {file}
        else:
            places = self.seen_from(file)
            top = file.split('/')[0]
            other = set()
            for p in self.tree.code:
                if p not in places and re.search(r'\b(struct|enum|union) %s \{' % old, self.tree.text[p]):
                    other |= self.tree.closure(p)
            places |= {p for p in self.tree.code if p.split('/')[0] == top and p not in other}
        for p in places:
            self.tag[p][old] = new

    def rule_prefix(self, old, new, file):
        names = {}
        for p in self.tree.halves(file):
            for name, kind, seen in defined(p):
                if not seen and kind not in 'sgut':
                    continue
                if name == old or name.startswith(old + '_'):
                    names[name, kind in 'sgu'] = new + name[len(old):]
                elif name == old.upper() or name.startswith(old.upper() + '_'):
                    names[name, False] = new.upper() + name[len(old):]
        if not names:
            sys.exit(f'nothing is called {old} in {file}')
        for (name, is_tag), other in names.items():
            (self.rule_tag if is_tag else self.rule_id)(name, other, file)

    def rule_static(self, old, new, file):
        if not re.search(r'\b%s\b' % old, self.tree.text[file]):
            sys.exit(f'{file}: no {old}')
        self.id[file][old] = new
        self.said[file][old + '('] = new + '('
        if '_' in old:
            self.said[file][old] = new

    def rule_call(self, old, new, file):
        if not re.search(r'\b%s\(' % old, self.tree.text[file]):
            sys.exit(f'{file}: no {old}()')
        self.call[file][old] = new
        self.said[file][old + '('] = new + '('

    def rule_word(self, old, new, globs):
        for p in self.matching(globs):
            self.word[p][old] = new

    def comment(self, path, text):
        tags, said = self.tag[path], self.said[path]
        if tags:
            text = re.sub(r'\b(struct|enum|union) (\w+)', lambda m: f'{m[1]} {tags.get(m[2], m[2])}', text)
        if said:
            text = re.sub(r'(?<![-/\w])[A-Za-z_]\w*\(?', lambda m: said.get(m[0], said.get(m[0].rstrip('('), m[0].rstrip('(')) + ('(' if m[0][-1] == '(' else '')), text)
        return text

    def rename(self, path, text):
        if path in self.tree.code:
            text = self.rename_code(path, text)
        elif self.said[path] and path.endswith('.md'):
            text = self.comment(path, text)
        return self.paths(path, text)

    def rename_code(self, path, text):
        ids, tags, words = self.id[path], self.tag[path], self.word[path]
        calls = self.call[path]
        out, before = [], ''
        tokens = TOKEN.findall(text)
        for token, after in zip(tokens, tokens[1:] + ['']):
            new = token
            if token.startswith(('//', '/*')):
                new = self.comment(path, token)
            elif WORD.fullmatch(token):
                if before in ('struct', 'enum', 'union'):
                    new = tags.get(token, token)
                elif token in words:
                    new = words[token]
                elif not before.endswith(('.', '->')) or before.endswith('...'):
                    new = ids.get(token, token)
                    if after.startswith('('):
                        new = calls.get(token, new)
            if not token.isspace() and not token.startswith(('//', '/*')):
                before = token.rstrip() if not WORD.fullmatch(token) else token
            out.append(new)
        return ''.join(out)

    def paths(self, path, text):
        for old, new in list(self.files.items()) + list(self.moves.items()):
            text = re.sub(r'(?<![\w/])%s\b' % re.escape(old), new, text)
            text = text.replace('include/' + old, 'include/' + new)
            if old.startswith('tests/') and path.endswith('.md'):
                text = text.replace('`%s`' % old[6:], '`%s`' % new[6:])
            if old.startswith('include/'):
                text = text.replace('"%s"' % old[8:], '"%s"' % new[8:])
            if old in self.files and path in self.tree.code:  # comments name files by their last part
                last, other = os.path.basename(old), os.path.basename(new)
                if os.path.dirname(old) == os.path.dirname(path) or path == 'tests/unit/test_' + last:
                    text = re.sub(r'(?<![\w/."])%s\b' % re.escape(last), other, text)
        if path in self.files and path.endswith('.h'):
            guard = re.search(r'#ifndef (PACELINE_\w+_H)\n#define \1\n', text)
            old, new = os.path.basename(path)[:-2].upper(), os.path.basename(self.files[path])[:-2].upper()
            if guard:
                text = text.replace(guard[1], re.sub(r'%s_H$' % old, new + '_H', guard[1]))
        for globs, old, new, row in self.texts:
            if any(fnmatch.fnmatch(path, g) for g in globs):
                text, n = re.subn(old, new, text)
                if n:
                    self.used.add(row)
        return text

    used = set()

    def collisions(self):
        """New names that are there already, where they would be seen."""
        bad = []
        for path in self.tree.code:
            there = set(WORD.findall(re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', '', self.tree.text[path], flags=re.S)))
            for table in (self.id, self.word, self.call):
                for old, new in table[path].items():
                    if old in there and new in there and new not in table[path]:
                        bad.append(f'{path}: {old} would become {new}, which is there')
            for old, new in self.tag[path].items():
                if re.search(r'\b(struct|enum|union) %s\b' % old, self.tree.text[path]) and \
                        re.search(r'\b(struct|enum|union) %s\b' % new, self.tree.text[path]):
                    bad.append(f'{path}: struct {old} would become {new}, which is there')
        return bad


def wrap_links(text):
    """What a test links, in lines that clang-format leaves alone."""
    lines = text.split('\n')
    links = [line for line in lines if line.startswith('// LINK: ')]
    if not any(len(line) > 100 for line in links):
        return text
    wrapped = textwrap.wrap(' '.join(line[9:] for line in links), 91, break_long_words=False, break_on_hyphens=False)
    at = lines.index(links[0])
    rest = [line for line in lines[at:] if line not in links]
    return '\n'.join(lines[:at] + ['// LINK: ' + line for line in wrapped] + rest)


def formatted(path, text):
    if not path.endswith(('.c', '.h')):
        return text
    text = wrap_links(text)
    while (new := sh('clang-format', '--assume-filename=' + path, input=text)) != text:
        text = new  # once more: it may not be content with its own
    return text


def renamed_mutants(tree, rules):
    out, path = [], None
    for line in tree.text[MUTANTS].split('\n'):
        if line.startswith('in '):
            path = next(p for p in tree.code if p.startswith('operator/') and mutate.definitions(tree.text[p], line[3:]))
            line = rules.rename(path, line + '(')[:-1]
        elif line.startswith(('- ', '+ ')):
            line = line[:2] + rules.rename(path, line[2:])
        out.append(line)
    return '\n'.join(out)


def main():
    os.chdir(sh('git', 'rev-parse', '--show-toplevel').strip())
    tree = Tree()
    rules = Rules(tree, sys.argv[1])
    bad = rules.collisions()
    if bad:
        sys.exit('\n'.join(bad))
    result, changed = {}, 0
    moved = {**rules.files, **rules.moves}
    for path, text in tree.text.items():
        new = renamed_mutants(tree, rules) if path == MUTANTS else rules.rename(path, text)
        if new != text and path in tree.code:
            new = formatted(moved.get(path, path), new)
        result[path] = new
    for old, new in moved.items():
        os.makedirs(os.path.dirname(new), exist_ok=True)
        sh('git', 'mv', old, new)
    for path, new in result.items():
        if new != tree.text[path]:
            open(moved.get(path, path), 'w', encoding='utf-8').write(new)
            changed += 1
    for globs, old, new, row in rules.texts:
        if row not in rules.used:
            print(f'{row}: no text like that: {old}')
    print(f'{sys.argv[1]}: {changed} files changed, {len(moved)} moved')


main()
