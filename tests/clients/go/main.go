// Drives a server through gomemcache (text protocol): `gomemcache ADDRESS`.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

const (
	racers     = 8
	increments = 50
)

// check ends the program unless the statement is true.
func check(truth bool, statement string, details ...any) {
	if !truth {
		fmt.Fprintln(os.Stderr, append([]any{"not so:", statement}, details...)...)
		os.Exit(1)
	}
}

func must(err error) {
	check(err == nil, "no error", err)
}

func has(client *memcache.Client, key, value string) {
	item, err := client.Get(key)
	must(err)
	check(string(item.Value) == value, key+" is "+value, string(item.Value))
}

func stores(client *memcache.Client) {
	must(client.Set(&memcache.Item{Key: "greeting", Value: []byte("hello"), Flags: 0xFFFFFFFF}))
	item, err := client.Get("greeting")
	must(err)
	check(string(item.Value) == "hello" && item.Flags == 0xFFFFFFFF, "value and flags come back", item)
	check(client.Add(&memcache.Item{Key: "greeting", Value: []byte("no")}) == memcache.ErrNotStored, "add finds the item")
	must(client.Replace(&memcache.Item{Key: "greeting", Value: []byte("good day")}))
	must(client.Append(&memcache.Item{Key: "greeting", Value: []byte(", all")}))
	must(client.Prepend(&memcache.Item{Key: "greeting", Value: []byte("a ")}))
	has(client, "greeting", "a good day, all")
	must(client.Delete("greeting"))
	check(client.Delete("greeting") == memcache.ErrCacheMiss, "what was deleted is gone")
	_, err = client.Get("greeting")
	check(err == memcache.ErrCacheMiss, "a get of it misses", err)
	check(client.Replace(&memcache.Item{Key: "greeting"}) == memcache.ErrNotStored, "replace finds nothing")
}

func many(client *memcache.Client) {
	keys := make([]string, 0, 1000)
	for number := 0; number < 1000; number++ {
		key := fmt.Sprintf("many:%d", number)
		must(client.Set(&memcache.Item{Key: key, Value: []byte(key)}))
		keys = append(keys, key, fmt.Sprintf("absent:%d", number))
	}
	found, err := client.GetMulti(keys)
	must(err)
	check(len(found) == 1000, "a get of 2,000 keys finds 1,000", len(found))
	for key, item := range found {
		check(string(item.Value) == key, "each has its own value", key, string(item.Value))
	}
}

func large(client *memcache.Client) {
	value := make([]byte, 1_000_000)
	rand.New(rand.NewSource(7)).Read(value)
	for number := 0; number < 4; number++ {
		must(client.Set(&memcache.Item{Key: fmt.Sprintf("large:%d", number), Value: value}))
	}
	item, err := client.Get("large:2")
	must(err)
	check(bytes.Equal(item.Value, value), "a large value comes back")
	err = client.Set(&memcache.Item{Key: "larger", Value: make([]byte, 1024*1024+1)})
	check(err != nil && strings.Contains(err.Error(), "too large"), "a larger one is refused", err)
	has(client, "many:1", "many:1")
}

func counters(client *memcache.Client) {
	must(client.Set(&memcache.Item{Key: "counter", Value: []byte("10")}))
	value, err := client.Increment("counter", 5)
	must(err)
	check(value == 15, "10 + 5", value)
	value, err = client.Decrement("counter", 20)
	must(err)
	check(value == 0, "never below 0", value)
	_, err = client.Increment("nothing", 1)
	check(err == memcache.ErrCacheMiss, "nothing cannot be counted", err)
	must(client.Set(&memcache.Item{Key: "word", Value: []byte("word")}))
	_, err = client.Increment("word", 1)
	check(err != nil && strings.Contains(err.Error(), "non-numeric"), "a word neither", err)
}

func casRace(client *memcache.Client) {
	must(client.Set(&memcache.Item{Key: "raced", Value: []byte("0")}))
	var group sync.WaitGroup
	for racer := 0; racer < racers; racer++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for done := 0; done < increments; {
				item, err := client.Get("raced")
				must(err)
				number, err := strconv.Atoi(string(item.Value))
				must(err)
				item.Value = []byte(strconv.Itoa(number + 1))
				err = client.CompareAndSwap(item)
				if errors.Is(err, memcache.ErrCASConflict) {
					continue
				}
				must(err)
				done++
			}
		}()
	}
	group.Wait()
	has(client, "raced", strconv.Itoa(racers*increments))
}

func expiry(client *memcache.Client) {
	begun := time.Now()
	must(client.Set(&memcache.Item{Key: "mortal", Value: []byte("x"), Expiration: 2}))
	must(client.Set(&memcache.Item{Key: "touched", Value: []byte("x"), Expiration: 2}))
	must(client.Touch("touched", 100))
	_, err := client.GetAndTouch("touched", 200)
	must(err)
	for {
		_, err := client.Get("mortal")
		if err == memcache.ErrCacheMiss {
			break
		}
		must(err)
		check(time.Since(begun) < 10*time.Second, "it expires")
		time.Sleep(20 * time.Millisecond)
	}
	lived := time.Since(begun)
	check(lived >= 900*time.Millisecond && lived <= 3500*time.Millisecond, "two seconds, give or take one", lived)
	has(client, "touched", "x")
}

func administration(client *memcache.Client) {
	must(client.Ping())
	must(client.FlushAll())
	_, err := client.Get("raced")
	check(err == memcache.ErrCacheMiss, "flushed", err)
}

func main() {
	client := memcache.New(os.Args[1])
	client.Timeout = 30 * time.Second
	client.MaxIdleConns = racers
	for _, part := range []struct {
		name string
		run  func(*memcache.Client)
	}{
		{"stores", stores}, {"many", many}, {"large", large}, {"counters", counters},
		{"cas race", casRace}, {"expiry", expiry}, {"administration", administration},
	} {
		part.run(client)
		fmt.Println("ok", part.name)
	}
}
