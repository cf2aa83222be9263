#include "worker/checkpoint/safetensors.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "paceline/file.h"
#include "paceline/json.h"
#include "paceline/mem.h"

#define LENGTH_BYTES 8 /* the header's length stands before it */
#define DATA_ALIGN 64
#define HEADER_MAX ((uint64_t)100000000) /* as the Python package has it */
#define MAX_DIMS ((int)ARRAY_LEN(((struct st_tensor *)0)->dims))
#define METADATA "__metadata__"
#define MAX_EXACT 9007199254740992.0 /* 2^53: doubles count exactly up to here */

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
    [ST_F32] = {"F32", 4}, [ST_F64] = {"F64", 8}, [ST_I64] = {"I64", 8}, [ST_U8] = {"U8", 1}};

const char *st_dtype_name(enum st_dtype dtype) { return dtypes[dtype].name; }

size_t st_dtype_bytes(enum st_dtype dtype) { return dtypes[dtype].bytes; }

static void header_metadata(struct buf *header, const struct st_meta *meta, size_t n_meta)
{
    buf_puts(header, "\"" METADATA "\":{");
    for (size_t i = 0; i < n_meta; i++) {
        buf_puts(header, i ? "," : "");
        json_print_string(meta[i].key, header);
        buf_puts(header, ":");
        json_print_string(meta[i].value, header);
    }
    buf_puts(header, "}");
}

static void header_tensor(struct buf *header, const struct st_tensor *t, size_t offset)
{
    buf_puts(header, ",");
    json_print_string(t->name, header);
    buf_printf(header, ":{\"dtype\":\"%s\",\"shape\":[", dtypes[t->dtype].name);
    for (int d = 0; d < t->n_dims; d++)
        buf_printf(header, "%s%" PRId64, d ? "," : "", t->dims[d]);
    buf_printf(header, "],\"data_offsets\":[%zu,%zu]}", offset, offset + t->bytes);
}

/* Length and header, padded with spaces so that the data starts at a multiple of 64. */
static void header_print(struct buf *out, const struct st_tensor *tensors, size_t n,
                         const struct st_meta *meta, size_t n_meta)
{
    uint8_t length[LENGTH_BYTES] = {0};
    size_t offset = 0;

    buf_add(out, length, sizeof length);
    buf_puts(out, "{");
    header_metadata(out, meta, n_meta);
    for (size_t i = 0; i < n; i++) {
        header_tensor(out, &tensors[i], offset);
        offset += tensors[i].bytes;
    }
    buf_puts(out, "}");
    while (out->len % DATA_ALIGN)
        buf_puts(out, " ");
    for (int i = 0; i < LENGTH_BYTES; i++)
        out->data[i] = (char)((uint64_t)(out->len - LENGTH_BYTES) >> 8 * i);
}

/* A header that is printed twice: for its length, and with the values that metadata then have. */
struct st_header {
    struct buf text;
    const struct st_tensor *tensors;
    const struct st_meta *meta;
    size_t n, n_meta;
};

static const void *header_load(void *arg)
{
    struct st_header *h = arg;

    h->text.len = 0;
    header_print(&h->text, h->tensors, h->n, h->meta, h->n_meta);
    return h->text.data;
}

int st_write(const char *path, const struct st_tensor *tensors, size_t n,
             const struct st_meta *meta, size_t n_meta, struct err *err)
{
    struct st_header header = {.tensors = tensors, .meta = meta, .n = n, .n_meta = n_meta};
    AUTO(auto_free) struct file_part *parts = xcalloc(n + 1, sizeof *parts);
    int rc;

    buf_init(&header.text, 0);
    header_load(&header);
    parts[0] =
        (struct file_part){.n = header.text.len, .load = header_load, .arg = &header, .late = true};
    for (size_t i = 0; i < n; i++)
        parts[i + 1] = (struct file_part){.bytes = tensors[i].data,
                                          .n = tensors[i].bytes,
                                          .load = tensors[i].load,
                                          .arg = tensors[i].arg};
    rc = file_write_parts(path, parts, n + 1, err);
    buf_release(&header.text);
    return rc;
}

/* A whole number of 0 to 2^53; false for anything else. */
static bool read_count(const cJSON *value, uint64_t *out)
{
    if (!cJSON_IsNumber(value) || !(value->valuedouble >= 0 && value->valuedouble <= MAX_EXACT))
        return false;
    *out = (uint64_t)value->valuedouble;
    return (double)*out == value->valuedouble;
}

static int read_dtype(struct st_tensor *t, const cJSON *dtype, const char *file, struct err *err)
{
    const char *found = cJSON_IsString(dtype) ? dtype->valuestring : "none";

    for (size_t i = 0; i < ARRAY_LEN(dtypes); i++)
        if (strcmp(dtypes[i].name, found) == 0) {
            t->dtype = (enum st_dtype)i;
            return 0;
        }
    return err_set(err, ERR_DAMAGED, "%s: tensor %s: dtype %.20s; F32, F64, I64 and U8 are allowed",
                   file, t->name, found);
}

/* Fills dims and, from them, bytes. */
static int safetensors_read_shape(struct st_tensor *t, const cJSON *shape, const char *file,
                                  struct err *err)
{
    size_t bytes = dtypes[t->dtype].bytes;
    const cJSON *dim;

    if (!cJSON_IsArray(shape) || cJSON_GetArraySize(shape) > MAX_DIMS)
        return err_set(err, ERR_DAMAGED,
                       "%s: tensor %s: its shape must be a list of at most %d sizes", file, t->name,
                       MAX_DIMS);
    cJSON_ArrayForEach(dim, shape)
    {
        uint64_t size;
        if (!read_count(dim, &size))
            return err_set(err, ERR_DAMAGED,
                           "%s: tensor %s: size %d of its shape is not a whole number of 0 to 2^53",
                           file, t->name, t->n_dims + 1);
        if (__builtin_mul_overflow(bytes, size, &bytes))
            return err_set(err, ERR_DAMAGED, "%s: tensor %s: its shape needs more than 2^64 bytes",
                           file, t->name);
        t->dims[t->n_dims++] = (int64_t)size;
    }
    t->bytes = bytes;
    return 0;
}

/* The bytes of a file after its header. */
struct span {
    size_t begin, bytes;
};

/* Checks the offsets against shape and file. */
static int read_offsets(struct st_tensor *t, const cJSON *offsets, struct span data,
                        const char *file, struct err *err)
{
    uint64_t begin, end;

    if (cJSON_GetArraySize(offsets) != 2 || !read_count(cJSON_GetArrayItem(offsets, 0), &begin) ||
        !read_count(cJSON_GetArrayItem(offsets, 1), &end))
        return err_set(err, ERR_DAMAGED, "%s: tensor %s: data_offsets must be two whole numbers",
                       file, t->name);
    if (begin > end || end > data.bytes)
        return err_set(err, ERR_DAMAGED,
                       "%s: tensor %s: data_offsets %" PRIu64 " to %" PRIu64
                       "; the file has %zu bytes of data",
                       file, t->name, begin, end, data.bytes);
    if (end - begin != t->bytes)
        return err_set(err, ERR_DAMAGED,
                       "%s: tensor %s: data_offsets span %" PRIu64 " bytes; its shape needs %zu",
                       file, t->name, end - begin, t->bytes);
    t->offset = data.begin + begin;
    if (t->offset % dtypes[t->dtype].bytes)
        return err_set(err, ERR_DAMAGED,
                       "%s: tensor %s starts at byte %" PRIu64
                       " of the data; a multiple of %zu is needed",
                       file, t->name, begin, dtypes[t->dtype].bytes);
    return 0;
}

static int compare_tensors(const void *a, const void *b)
{
    const struct st_tensor *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes); /* empty tensors first */
}

/* Sorts the tensors by place; every byte must belong to exactly one. */
static int check_cover(struct st_file *f, struct span data, const char *file, struct err *err)
{
    size_t next = data.begin;

    if (f->n)
        qsort(f->tensors, f->n, sizeof *f->tensors, compare_tensors);
    for (size_t i = 0; i < f->n; i++) {
        const struct st_tensor *t = &f->tensors[i];
        if (t->offset != next)
            return err_set(err, ERR_DAMAGED,
                           "%s: tensor %s starts at byte %zu of the data; the one before it ends "
                           "at %zu",
                           file, t->name, t->offset - data.begin, next - data.begin);
        next += t->bytes;
    }
    if (next != data.begin + data.bytes)
        return err_set(err, ERR_DAMAGED, "%s: %zu bytes of tensors; the file has %zu bytes of data",
                       file, next - data.begin, data.bytes);
    return 0;
}

static int read_tensor(struct st_tensor *t, const cJSON *entry, struct span data, const char *file,
                       struct err *err)
{
    if (!cJSON_IsObject(entry))
        return err_set(err, ERR_DAMAGED, "%s: tensor %s: an object is needed", file, t->name);
    if (read_dtype(t, cJSON_GetObjectItemCaseSensitive(entry, "dtype"), file, err) ||
        safetensors_read_shape(t, cJSON_GetObjectItemCaseSensitive(entry, "shape"), file, err))
        return -1;
    return read_offsets(t, cJSON_GetObjectItemCaseSensitive(entry, "data_offsets"), data, file,
                        err);
}

static int read_metadata(struct st_file *f, const cJSON *entry, const char *file, struct err *err)
{
    const cJSON *item;

    if (!cJSON_IsObject(entry))
        return err_set(err, ERR_DAMAGED, "%s: %s: an object is needed", file, METADATA);
    f->meta = xcalloc((size_t)cJSON_GetArraySize(entry), sizeof *f->meta);
    cJSON_ArrayForEach(item, entry)
    {
        if (!cJSON_IsString(item))
            return err_set(err, ERR_DAMAGED, "%s: %s.%s: a string is needed", file, METADATA,
                           item->string);
        f->meta[f->n_meta++] = (struct st_meta){item->string, item->valuestring};
    }
    return 0;
}

static int read_tensors(struct st_file *f, struct span data, const char *file, struct err *err)
{
    const cJSON *entry;

    if (!cJSON_IsObject(f->header))
        return err_set(err, ERR_DAMAGED, "%s: the header must be a JSON object", file);
    f->tensors = xcalloc((size_t)cJSON_GetArraySize(f->header), sizeof *f->tensors);
    cJSON_ArrayForEach(entry, f->header)
    {
        if (strcmp(entry->string, METADATA) == 0) {
            if (read_metadata(f, entry, file, err))
                return -1;
            continue;
        }
        f->tensors[f->n].name = entry->string;
        if (read_tensor(&f->tensors[f->n++], entry, data, file, err))
            return -1;
    }
    return check_cover(f, data, file, err);
}

/* The header's bytes, from the first ones of a file of `len`. */
static int read_length(size_t *header, const uint8_t *start, size_t len, const char *name,
                       struct err *err)
{
    uint64_t length = 0;

    if (len < LENGTH_BYTES)
        return err_set(err, ERR_DAMAGED, "%s: %zu bytes; a safetensors file has at least %d", name,
                       len, LENGTH_BYTES);
    for (int i = 0; i < LENGTH_BYTES; i++)
        length |= (uint64_t)start[i] << 8 * i;
    if (length > len - LENGTH_BYTES)
        return err_set(err, ERR_DAMAGED,
                       "%s: a header of %" PRIu64 " bytes; the file has %zu after its length", name,
                       length, len - LENGTH_BYTES);
    if (length > HEADER_MAX)
        return err_set(err, ERR_DAMAGED,
                       "%s: a header of %" PRIu64 " bytes; at most %" PRIu64 " are allowed", name,
                       length, HEADER_MAX);
    *header = (size_t)length;
    return 0;
}

/* From a header of n bytes, of a file of `len`. */
static int safetensors_read_header(struct st_file *f, const char *header, size_t n, size_t len,
                                   const char *name, struct err *err)
{
    const struct span data = {.begin = LENGTH_BYTES + n, .bytes = len - LENGTH_BYTES - n};

    if (json_parse(&f->header, header, n, name, err) == 0 && read_tensors(f, data, name, err) == 0)
        return 0;
    err->code = ERR_DAMAGED; /* also where the JSON parser refused it */
    return -1;
}

int st_parse(struct st_file *f, const void *bytes, size_t len, const char *name, struct err *err)
{
    const uint8_t *start = bytes;
    AUTO(auto_free) char *text = NULL; /* a mapped file may change between two looks at it */
    size_t header = 0;

    *f = (struct st_file){0};
    if (read_length(&header, start, len, name, err))
        return -1;
    text = xmalloc(header + 1);
    memcpy(text, start + LENGTH_BYTES, header);
    if (safetensors_read_header(f, text, header, len, name, err)) {
        st_close(f);
        return -1;
    }
    for (size_t i = 0; i < f->n; i++)
        f->tensors[i].data = start + f->tensors[i].offset;
    return 0;
}

int st_open(struct st_file *f, const char *path, struct err *err)
{
    struct file_map map;

    *f = (struct st_file){0};
    if (file_map_open(&map, path, err))
        return -1;
    if (st_parse(f, map.bytes, map.len, path, err)) {
        file_map_close(&map);
        return -1;
    }
    f->map = map;
    return 0;
}

int st_read(const struct st_file *f, const char *path, size_t at, void *to, size_t n,
            struct err *err)
{
    errno = 0;
    if (fseeko(f->disk, (off_t)at, SEEK_SET) == 0 && fread(to, 1, n, f->disk) == n)
        return 0;
    return err_set(err, ERR_IO, "%s: %s", path, errno ? strerror(errno) : "it has become shorter");
}

static int open_on_disk(struct st_file *f, const char *path, size_t *len, struct err *err)
{
    struct stat st;

    f->disk = fopen(path, "rbe");
    if (!f->disk)
        return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, "%s: %s",
                       path, strerror(errno));
    setvbuf(f->disk, NULL, _IONBF, 0); /* what is read goes where it is wanted */
    if (fstat(fileno(f->disk), &st))
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "%s: not a regular file", path);
    *len = (size_t)st.st_size;
    return 0;
}

static int read_on_disk(struct st_file *f, const char *path, struct err *err)
{
    AUTO(auto_free) char *text = NULL;
    uint8_t start[LENGTH_BYTES] = {0};
    size_t len = 0, header = 0;

    if (open_on_disk(f, path, &len, err) ||
        st_read(f, path, 0, start, len < sizeof start ? len : sizeof start, err) ||
        read_length(&header, start, len, path, err))
        return -1;
    text = xmalloc(header + 1);
    if (st_read(f, path, LENGTH_BYTES, text, header, err))
        return -1;
    return safetensors_read_header(f, text, header, len, path, err);
}

int st_open_on_disk(struct st_file *f, const char *path, struct err *err)
{
    *f = (struct st_file){0};
    if (read_on_disk(f, path, err) == 0)
        return 0;
    st_close(f);
    return -1;
}

void st_close(struct st_file *f)
{
    free(f->tensors);
    free(f->meta);
    cJSON_Delete(f->header);
    file_map_close(&f->map);
    if (f->disk)
        fclose(f->disk);
    *f = (struct st_file){0};
}

const struct st_tensor *st_find(const struct st_file *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->tensors[i].name, name) == 0)
            return &f->tensors[i];
    return NULL;
}

const char *st_meta_get(const struct st_file *f, const char *key)
{
    for (size_t i = 0; i < f->n_meta; i++)
        if (strcmp(f->meta[i].key, key) == 0)
            return f->meta[i].value;
    return NULL;
}
