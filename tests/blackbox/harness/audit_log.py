"""The files of an audit log, taken apart and put together again as a forger would.

Written from the standards (RFC 6962 § 2.1, c2sp.org tlog-tiles, tlog-checkpoint, signed-note), not
from the gate's code: what it writes, the gate's verifier has to read.
"""
import base64
import hashlib
import shutil
import subprocess

WIDTH = 256
DER_OF_SEED = bytes.fromhex('302e020100300506032b657004220420')


def leaf(entry):
    return hashlib.sha256(b'\x00' + entry).digest()


def node(left, right):
    return hashlib.sha256(b'\x01' + left + right).digest()


def root(hashes):
    if not hashes:
        return hashlib.sha256().digest()
    if len(hashes) == 1:
        return hashes[0]
    split = 1
    while split * 2 < len(hashes):
        split *= 2
    return node(root(hashes[:split]), root(hashes[split:]))


def tiles_of(folder, level):
    """What there is of each tile: whole, else its widest part."""
    found = {}
    for file in (folder / 'tile' / level).rglob('*'):
        if file.is_file():
            number, width = (file.parent.name[:-2], int(file.name)) if file.parent.name.endswith('.p') \
                else (file.name, WIDTH)
            if width > found.get(number, (0, None))[0]:
                found[number] = (width, file)
    return [found[number][1] for number in sorted(found)]


def read_entries(folder):
    entries = []
    for file in tiles_of(folder, 'entries'):
        rest = file.read_bytes()
        while rest:
            size = int.from_bytes(rest[:2], 'big')
            entries.append(rest[2:2 + size])
            rest = rest[2 + size:]
    return entries


def write_tiles(folder, entries):
    """All tiles anew, for these entries; three levels do."""
    shutil.rmtree(folder / 'tile')
    bundles = [b''.join(len(e).to_bytes(2, 'big') + e for e in entries[i:i + WIDTH])
               for i in range(0, len(entries), WIDTH)]
    write_level(folder / 'tile' / 'entries', bundles, [min(WIDTH, len(entries) - i)
                                                       for i in range(0, len(entries), WIDTH)])
    hashes = [leaf(entry) for entry in entries]
    for level in ('0', '1'):
        cut = range(0, len(hashes), WIDTH)
        write_level(folder / 'tile' / level, [b''.join(hashes[i:i + WIDTH]) for i in cut],
                    [min(WIDTH, len(hashes) - i) for i in cut])
        hashes = [root(hashes[i:i + WIDTH]) for i in cut if len(hashes) - i >= WIDTH]


def write_level(folder, contents, widths):
    for number, (content, width) in enumerate(zip(contents, widths)):
        file = folder / f'{number:03}' if width == WIDTH else folder / f'{number:03}.p' / str(width)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def follow(entries, since=0):
    """Places and predecessors as they should be, from entry `since` on."""
    done = list(entries[:since])
    for seq, entry in enumerate(entries[since:], since):
        before = leaf(done[-1]) if done else bytes(32)
        done.append(entry[:10] + seq.to_bytes(8, 'big') + entry[18:26] + before + entry[58:])
    return done


def openssl(*arguments, stdin, **options):
    return subprocess.run(['openssl', *arguments], input=stdin, capture_output=True, check=True, **options).stdout


def public_of(seed):
    return openssl('pkey', '-inform', 'DER', '-pubout', '-outform', 'DER', stdin=DER_OF_SEED + seed)[-32:]


def key_id(origin, public):
    return hashlib.sha256(origin.encode() + b'\n\x01' + public).digest()[:4]


def verifier_key(origin, seed):
    public = public_of(seed)
    return f'{origin}+{key_id(origin, public).hex()}+{base64.b64encode(bytes([1]) + public).decode()}'


def sign(text, origin, seed, scratch):
    """A signed note."""
    (scratch / 'seed.der').write_bytes(DER_OF_SEED + seed)
    (scratch / 'text').write_text(text)
    signature = openssl('pkeyutl', '-sign', '-rawin', '-keyform', 'DER', '-inkey', scratch / 'seed.der',
                        '-in', scratch / 'text', stdin=b'')
    coded = base64.b64encode(key_id(origin, public_of(seed)) + signature).decode()
    return f'{text}\n— {origin} {coded}\n'


def origin_of(folder):
    return (folder / 'checkpoint').read_text().split('\n')[0]


def write_checkpoint(folder, entries, seed, scratch):
    """Sign what is there, and leave no other history."""
    origin = origin_of(folder)
    text = f'{origin}\n{len(entries)}\n{base64.b64encode(root([leaf(e) for e in entries])).decode()}\n'
    note = sign(text, origin, seed, scratch)
    shutil.rmtree(folder / 'checkpoints')
    (folder / 'checkpoints').mkdir()
    (folder / 'checkpoints' / str(len(entries))).write_text(note)
    (folder / 'checkpoint').write_text(note)
